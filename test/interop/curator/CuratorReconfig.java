/* SPDX-License-Identifier: Apache-2.0 */
/* CuratorReconfig CONNECT NUMBER LINE ADDRESS: Curator changes the members, and follows the list.
 *
 * Member NUMBER, whose LINE is server.N=... and whose clients connect to ADDRESS, leaves and joins. */
import java.util.concurrent.Callable;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.KeeperException;

public class CuratorReconfig {
    private static final long SECONDS = 120;

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException(what);
        }
    }

    private static void await(String what, Callable<Boolean> condition) throws Exception {
        long deadline = System.nanoTime() + SECONDS * 1_000_000_000L;

        while (!condition.call()) {
            check(System.nanoTime() < deadline, "waited for " + what);
            Thread.sleep(10); // what another thread of the library does cannot be waited for
        }
    }

    private static long versionOf(byte[] config) {
        String text = new String(config);

        return Long.parseLong(text.substring(text.lastIndexOf("version=") + 8).trim(), 16);
    }

    /* The tracker has the list, and the client would connect to those in it. */
    private static void awaitTracked(CuratorFramework client, byte[] config, long number, String address,
                                     boolean isThere) throws Exception {
        await("the version", () -> client.getCurrentConfig().getVersion() == versionOf(config));
        check(client.getCurrentConfig().getAllMembers().containsKey(number) == isThere, "the tracker's members");
        await("the servers", () -> client.getZookeeperClient().getCurrentConnectionString().contains(address) == isThere);
    }

    public static void main(String[] args) throws Exception {
        String number = args[1], line = args[2], address = args[3];

        try (CuratorFramework client = CuratorFrameworkFactory.builder()
                 .connectString(args[0]).retryPolicy(new RetryNTimes(100, 100)).ensembleTracker(true).build()) {
            client.start();
            check(client.blockUntilConnected((int)SECONDS, java.util.concurrent.TimeUnit.SECONDS), "a connection");
            byte[] first = client.getConfig().forEnsemble();
            check(new String(first).contains(line.substring(0, line.indexOf('='))), "the first list");
            try {
                client.reconfig().leaving(number).fromConfig(7).forEnsemble();
                check(false, "a wrong version was taken");
            } catch (KeeperException.BadVersionException expected) {
                System.out.println("a wrong version is refused");
            }
            byte[] without = client.reconfig().leaving(number).fromConfig(versionOf(first)).forEnsemble();
            check(!new String(without).contains("server." + number + "="), "it has left");
            awaitTracked(client, without, Long.parseLong(number), address, false);
            byte[] again = client.reconfig().joining(line).forEnsemble();
            check(new String(again).contains(line), "it has joined");
            awaitTracked(client, again, Long.parseLong(number), address, true);
            System.out.println("left and joined, and was followed");
        }
    }
}
