// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.data.Stat;

/**
 * Does with Java Curator what recipe_peer.c does with libpawl: the words of curator_recipes.py.
 *
 * Arguments: HOST:PORT, session timeout in ms, port of the referee. Each line of standard input is
 * "ACTOR VERB ARGUMENT..."; each actor is a thread with a connection of its own, made at its first
 * line. Each line is answered, when it is done, with "ACTOR ok ..." or "ACTOR error ...".
 */
public class CuratorPeer {
    static String address;
    static int sessionMs;
    static int refereePort;
    static final PrintStream out = new PrintStream(System.out, true);

    interface Verb {
        String run(Actor actor, String[] args) throws Exception;
    }

    static final Map<String, Verb> verbs = new HashMap<>();

    /** One contender. */
    static class Actor extends Thread {
        final String name;
        final CuratorFramework client;
        final BlockingQueue<String[]> lines = new LinkedBlockingQueue<>();
        /** What was made on a path and lives from one line to the next. */
        final Map<String, Object> things = new HashMap<>();
        private PrintStream toReferee;
        private BufferedReader fromReferee;

        Actor(String name) throws Exception {
            this.name = name;
            setDaemon(true);
            client = CuratorFrameworkFactory.newClient(address, sessionMs, 10000,
                new ExponentialBackoffRetry(50, 8));
            client.start();
        }

        @Override
        public void run() {
            while (true) {
                try {
                    String[] words = lines.take();
                    Verb verb = verbs.get(words[1]);
                    if (verb == null) {
                        throw new IllegalArgumentException("no verb " + words[1]);
                    }
                    String result = verb.run(this, Arrays.copyOfRange(words, 2, words.length));
                    say(name + " ok" + (result.isEmpty() ? "" : " " + result));
                } catch (Throwable t) {
                    say(name + " error " + t.toString().replace('\n', ' '));
                }
            }
        }

        /** The thing of this path, made if there is none. */
        @SuppressWarnings("unchecked")
        <T> T thing(String key, java.util.concurrent.Callable<T> make) throws Exception {
            Object found = things.get(key);
            if (found == null) {
                found = make.call();
                things.put(key, found);
            }
            return (T) found;
        }

        /** The referee knows who is inside, and says no to one too many. */
        void referee(String what) throws Exception {
            if (toReferee == null) {
                Socket socket = new Socket("127.0.0.1", refereePort);
                socket.setTcpNoDelay(true);
                toReferee = new PrintStream(socket.getOutputStream(), true);
                fromReferee = new BufferedReader(new InputStreamReader(socket.getInputStream()));
            }
            toReferee.print(what + " " + name + "\n");
            toReferee.flush();
            String verdict = fromReferee.readLine();
            if (!"ok".equals(verdict)) {
                throw new IllegalStateException("the referee says: " + verdict);
            }
        }

        /** Not atomic on purpose: counts right only if nobody else is inside. */
        void bump(String path) throws Exception {
            int count = Integer.parseInt(new String(client.getData().forPath(path)));
            client.setData().forPath(path, bytes(Integer.toString(count + 1)));
        }
    }

    static synchronized void say(String line) {
        out.print(line + "\n");
        out.flush();
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static void yesOrThrow(boolean fact, String what) {
        if (!fact) {
            throw new IllegalStateException("not in time: " + what);
        }
    }

    /** Polls what Curator gives no event for. */
    static boolean within(String ms, java.util.concurrent.Callable<Boolean> condition) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(Long.parseLong(ms));
        while (!condition.call()) {
            if (System.nanoTime() > deadline) {
                return false;
            }
            Thread.sleep(5);
        }
        return true;
    }

    static String yesNo(boolean yes) {
        return yes ? "yes" : "no";
    }

    static void plainVerbs() {
        verbs.put("connect", (a, v) -> {
            yesOrThrow(a.client.blockUntilConnected(20, TimeUnit.SECONDS), "connected");
            return Long.toString(a.client.getZookeeperClient().getZooKeeper().getSessionId());
        });
        verbs.put("close", (a, v) -> {
            a.client.close();
            return "";
        });
        verbs.put("stat", (a, v) -> {
            Stat stat = a.client.checkExists().forPath(v[0]);
            return stat == null ? "none" : Long.toString(stat.getEphemeralOwner());
        });
    }

    public static void main(String[] args) throws Exception {
        address = args[0];
        sessionMs = Integer.parseInt(args[1]);
        refereePort = Integer.parseInt(args[2]);
        plainVerbs();
        PeerLocks.addTo(verbs);
        PeerElections.addTo(verbs);
        PeerCounters.addTo(verbs);
        PeerQueues.addTo(verbs);
        PeerGroups.addTo(verbs);
        try { // only where Debian's libcurator-discovery-java is installed
            Class.forName("PeerDiscovery").getMethod("addTo", Map.class).invoke(null, verbs);
        } catch (ClassNotFoundException | NoClassDefFoundError e) {
            verbs.remove("disc-register");
        }
        Map<String, Actor> actors = new HashMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        say("ready " + String.join(" ", verbs.keySet()));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            Actor actor = actors.get(words[0]);
            if (actor == null) {
                actor = new Actor(words[0]);
                actors.put(words[0], actor);
                actor.start();
            }
            actor.lines.put(words);
        }
        List<Actor> all = new ArrayList<>(actors.values());
        for (Actor actor : all) {
            actor.client.close();
        }
        System.exit(0);
    }
}
