// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.framework.recipes.shared.SharedCount;

/** Mutex, read/write lock, semaphores, multi-lock. */
final class PeerLocks {
    private static final int PATIENCE_SECONDS = 60;

    private PeerLocks() {
    }

    /** So many times: in, look whether we are alone, out. */
    private static String exclusiveRounds(CuratorPeer.Actor a, InterProcessLock lock, String path, String rounds)
        throws Exception {
        for (int i = 0; i < Integer.parseInt(rounds); i++) {
            CuratorPeer.yesOrThrow(lock.acquire(PATIENCE_SECONDS, TimeUnit.SECONDS), "the lock");
            a.referee("enter " + path + " write");
            a.bump(path + "-count");
            a.referee("leave " + path + " write");
            lock.release();
        }
        return "";
    }

    private static boolean acquire(InterProcessLock lock, String ms) throws Exception {
        return lock.acquire(Long.parseLong(ms), TimeUnit.MILLISECONDS);
    }

    private static InterProcessMutex mutex(CuratorPeer.Actor a, String path) throws Exception {
        return a.thing("mutex " + path, () -> new InterProcessMutex(a.client, path));
    }

    private static InterProcessLock half(CuratorPeer.Actor a, String path, String which) throws Exception {
        InterProcessReadWriteLock lock =
            a.thing("rw " + path, () -> new InterProcessReadWriteLock(a.client, path));
        return which.equals("read") ? lock.readLock() : lock.writeLock();
    }

    private static InterProcessMultiLock multi(CuratorPeer.Actor a, String paths) throws Exception {
        return a.thing("multi " + paths,
            () -> new InterProcessMultiLock(a.client, Arrays.asList(paths.split(","))));
    }

    private static void mutexVerbs(Map<String, CuratorPeer.Verb> verbs) {
        verbs.put("mutex-rounds", (a, v) -> exclusiveRounds(a, mutex(a, v[0]), v[0], v[1]));
        verbs.put("mutex-acquire", (a, v) -> CuratorPeer.yesNo(acquire(mutex(a, v[0]), v[1])));
        verbs.put("mutex-release", (a, v) -> {
            mutex(a, v[0]).release();
            return "";
        });
        verbs.put("mutex-participants", (a, v) -> String.join(" ", mutex(a, v[0]).getParticipantNodes()));
        verbs.put("mutex-revocable", (a, v) -> { // gives the lock up when somebody asks
            InterProcessMutex lock = new InterProcessMutex(a.client, v[0]);
            java.util.concurrent.CountDownLatch asked = new java.util.concurrent.CountDownLatch(1);
            lock.makeRevocable(forLock -> asked.countDown());
            CuratorPeer.yesOrThrow(acquire(lock, v[1]), "the lock");
            boolean yes = asked.await(Long.parseLong(v[1]), TimeUnit.MILLISECONDS);
            lock.release();
            return CuratorPeer.yesNo(yes);
        });
        verbs.put("mutex-revoke", (a, v) -> {
            Revoker.attemptRevoke(a.client, v[0]);
            return "";
        });
        verbs.put("multi-rounds", (a, v) -> exclusiveRounds(a, multi(a, v[0]), v[0].split(",")[0], v[1]));
        verbs.put("semaphore-mutex-rounds", (a, v) ->
            exclusiveRounds(a, a.thing("sm " + v[0], () -> new InterProcessSemaphoreMutex(a.client, v[0])), v[0], v[1]));
    }

    private static void readWriteVerbs(Map<String, CuratorPeer.Verb> verbs) {
        verbs.put("rw-rounds", (a, v) -> { // two reads to one write
            for (int i = 0; i < Integer.parseInt(v[1]); i++) {
                if (i % 3 == 2) {
                    exclusiveRounds(a, half(a, v[0], "write"), v[0], "1");
                } else {
                    CuratorPeer.yesOrThrow(acquire(half(a, v[0], "read"), "60000"), "the read lock");
                    a.referee("enter " + v[0] + " read");
                    a.client.getData().forPath(v[0] + "-count");
                    a.referee("leave " + v[0] + " read");
                    half(a, v[0], "read").release();
                }
            }
            return "";
        });
        verbs.put("rw-acquire", (a, v) -> CuratorPeer.yesNo(acquire(half(a, v[0], v[1]), v[2])));
        verbs.put("rw-release", (a, v) -> {
            half(a, v[0], v[1]).release();
            return "";
        });
    }

    private static InterProcessSemaphoreV2 semaphore(CuratorPeer.Actor a, String path, String leases)
        throws Exception {
        return a.thing("sem " + path,
            () -> new InterProcessSemaphoreV2(a.client, path, Integer.parseInt(leases)));
    }

    private static List<Lease> leasesOf(CuratorPeer.Actor a, String path) throws Exception {
        return a.thing("leases " + path, () -> new ArrayList<Lease>());
    }

    private static void semaphoreVerbs(Map<String, CuratorPeer.Verb> verbs) {
        verbs.put("sem-rounds", (a, v) -> {
            InterProcessSemaphoreV2 semaphore = semaphore(a, v[0], v[2]);
            for (int i = 0; i < Integer.parseInt(v[1]); i++) {
                Lease lease = semaphore.acquire(PATIENCE_SECONDS, TimeUnit.SECONDS);
                CuratorPeer.yesOrThrow(lease != null, "a lease");
                a.referee("enter " + v[0] + " lease:" + v[2]);
                a.referee("leave " + v[0] + " lease:" + v[2]);
                semaphore.returnLease(lease);
            }
            return "";
        });
        verbs.put("sem-acquire", (a, v) -> {
            Lease lease = semaphore(a, v[0], v[1]).acquire(Long.parseLong(v[2]), TimeUnit.MILLISECONDS);
            if (lease != null) {
                leasesOf(a, v[0]).add(lease);
            }
            return CuratorPeer.yesNo(lease != null);
        });
        verbs.put("sem-shared", (a, v) -> { // PATH COUNT-PATH MS: the number of leases is a shared count
            SharedCount count = a.thing("sem-count " + v[1], () -> {
                SharedCount made = new SharedCount(a.client, v[1], 1);
                made.start();
                return made;
            });
            InterProcessSemaphoreV2 semaphore =
                a.thing("sem " + v[0], () -> new InterProcessSemaphoreV2(a.client, v[0], count));
            Lease lease = semaphore.acquire(Long.parseLong(v[2]), TimeUnit.MILLISECONDS);
            if (lease != null) {
                leasesOf(a, v[0]).add(lease);
            }
            return CuratorPeer.yesNo(lease != null);
        });
        verbs.put("sem-return", (a, v) -> {
            leasesOf(a, v[0]).remove(0).close();
            return "";
        });
    }

    static void addTo(Map<String, CuratorPeer.Verb> verbs) {
        mutexVerbs(verbs);
        readWriteVerbs(verbs);
        semaphoreVerbs(verbs);
    }
}
