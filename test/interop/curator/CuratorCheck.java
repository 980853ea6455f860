// SPDX-License-Identifier: Apache-2.0

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.transaction.CuratorOp;
import org.apache.curator.framework.api.transaction.CuratorTransactionResult;
import org.apache.curator.framework.api.transaction.OperationType;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.framework.recipes.cache.TreeCache;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.Participant;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.retry.RetryOneTime;
import org.apache.curator.utils.ZKPaths;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/** Curator's recipes on a server: exits 0 only if every assertion held. Argument: HOST:PORT. */
public class CuratorCheck {
    private static final int WAIT_SECONDS = 30;
    private static String address;
    private static final List<CuratorFramework> clients = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        address = args[0];
        try {
            run("mutex under contention", CuratorCheck::mutex);
            run("mutex is reentrant and times out", CuratorCheck::mutexReentrant);
            run("read/write lock", CuratorCheck::readWriteLock);
            run("semaphore", CuratorCheck::semaphore);
            run("leader latch", CuratorCheck::leaderLatch);
            run("curator cache", CuratorCheck::curatorCache);
            run("tree cache", CuratorCheck::treeCache);
            run("protected create", CuratorCheck::protectedCreate);
            run("transactions", CuratorCheck::transactions);
            run("create modes", CuratorCheck::createModes);
            run("persistent node", CuratorCheck::persistentNode);
            run("atomic counter", CuratorCheck::atomicCounter);
            run("double barrier", CuratorCheck::doubleBarrier);
        } catch (Throwable t) {
            t.printStackTrace();
            System.exit(1);
        }
        System.out.println("CuratorCheck: all held");
        System.exit(0);
    }

    interface Story {
        void tell() throws Exception;
    }

    private static void run(String name, Story story) throws Exception {
        long began = System.nanoTime();
        try {
            story.tell();
        } catch (Throwable t) {
            System.out.println("CuratorCheck: " + name + ": FAILED");
            throw t;
        } finally {
            for (CuratorFramework client : clients) {
                client.close();
            }
            clients.clear();
        }
        System.out.printf("CuratorCheck: %s (%d ms)%n", name, (System.nanoTime() - began) / 1000000);
    }

    private static void check(boolean fact, String what) {
        if (!fact) {
            throw new AssertionError(what);
        }
    }

    private static void equal(Object got, Object wanted, String what) {
        check(wanted.equals(got), what + ": got " + got + ", wanted " + wanted);
    }

    private static CuratorFramework connect() throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(address, 20000, 10000, new RetryOneTime(100));
        client.start();
        check(client.blockUntilConnected(WAIT_SECONDS, TimeUnit.SECONDS), "connected");
        clients.add(client);
        return client;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static void waitUntil(Callable<Boolean> condition, String what) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_SECONDS);
        while (!condition.call()) {
            check(System.nanoTime() < deadline, "in time: " + what);
            Thread.sleep(5);
        }
    }

    /** Runs the tasks at once, each in a thread of its own, and rethrows what one of them threw. */
    private static void together(List<Callable<Void>> tasks) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(tasks.size());
        for (Future<Void> result : threads.invokeAll(tasks, 2 * WAIT_SECONDS, TimeUnit.SECONDS)) {
            result.get();
        }
        threads.shutdown();
    }

    private static void mutex() throws Exception {
        AtomicInteger inside = new AtomicInteger();
        int[] unguarded = {0};
        List<Callable<Void>> tasks = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            CuratorFramework client = connect();
            for (int j = 0; j < 2; j++) {
                tasks.add(() -> {
                    InterProcessMutex lock = new InterProcessMutex(client, "/curator/mutex");
                    for (int round = 0; round < 25; round++) {
                        check(lock.acquire(WAIT_SECONDS, TimeUnit.SECONDS), "acquired");
                        equal(inside.incrementAndGet(), 1, "holders of the lock");
                        unguarded[0]++;
                        inside.decrementAndGet();
                        lock.release();
                    }
                    return null;
                });
            }
        }
        together(tasks);
        equal(unguarded[0], 8 * 25, "rounds under the lock");
        equal(connect().getChildren().forPath("/curator/mutex").size(), 0, "nodes left behind");
    }

    private static void mutexReentrant() throws Exception {
        CuratorFramework one = connect();
        CuratorFramework two = connect();
        InterProcessMutex first = new InterProcessMutex(one, "/curator/reentrant");
        InterProcessMutex second = new InterProcessMutex(two, "/curator/reentrant");
        first.acquire();
        first.acquire();
        check(!second.acquire(200, TimeUnit.MILLISECONDS), "the other waits in vain");
        first.release();
        check(!second.acquire(200, TimeUnit.MILLISECONDS), "still held once");
        equal(first.getParticipantNodes().size(), 1, "participants");
        first.release();
        check(second.acquire(WAIT_SECONDS, TimeUnit.SECONDS), "free now");
        two.close(); // a holder that goes away gives the lock back
        check(first.acquire(WAIT_SECONDS, TimeUnit.SECONDS), "free after the session closed");
        first.release();
    }

    private static void readWriteLock() throws Exception {
        InterProcessReadWriteLock a = new InterProcessReadWriteLock(connect(), "/curator/rw");
        InterProcessReadWriteLock b = new InterProcessReadWriteLock(connect(), "/curator/rw");
        a.readLock().acquire();
        check(b.readLock().acquire(WAIT_SECONDS, TimeUnit.SECONDS), "readers share");
        b.readLock().release();
        check(!b.writeLock().acquire(200, TimeUnit.MILLISECONDS), "a reader keeps writers out");
        a.readLock().release();
        check(b.writeLock().acquire(WAIT_SECONDS, TimeUnit.SECONDS), "the writer gets in");
        check(!a.readLock().acquire(200, TimeUnit.MILLISECONDS), "a writer keeps readers out");
        check(b.readLock().acquire(WAIT_SECONDS, TimeUnit.SECONDS), "a writer may read");
        b.writeLock().release();
        check(a.readLock().acquire(WAIT_SECONDS, TimeUnit.SECONDS), "downgraded to reading");
        a.readLock().release();
        b.readLock().release();
    }

    private static void semaphore() throws Exception {
        InterProcessSemaphoreV2 a = new InterProcessSemaphoreV2(connect(), "/curator/semaphore", 2);
        InterProcessSemaphoreV2 b = new InterProcessSemaphoreV2(connect(), "/curator/semaphore", 2);
        Lease first = a.acquire();
        Lease second = b.acquire();
        check(a.acquire(200, TimeUnit.MILLISECONDS) == null, "no third lease");
        b.returnLease(second);
        Lease third = a.acquire(WAIT_SECONDS, TimeUnit.SECONDS);
        check(third != null, "the returned lease");
        a.returnLease(first);
        a.returnLease(third);
    }

    private static void leaderLatch() throws Exception {
        List<LeaderLatch> latches = new ArrayList<>();
        List<CuratorFramework> owners = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            owners.add(connect());
            latches.add(new LeaderLatch(owners.get(i), "/curator/latch", "member" + i));
            latches.get(i).start();
            check(i > 0 || latches.get(0).await(WAIT_SECONDS, TimeUnit.SECONDS), "the first one leads");
        }
        waitUntil(() -> latches.get(2).getParticipants().size() == 3, "three participants");
        Participant leader = latches.get(2).getLeader();
        equal(leader.getId(), "member0", "leader as the others see it");
        check(!latches.get(1).hasLeadership() && !latches.get(2).hasLeadership(), "one leader");
        latches.get(0).close();
        waitUntil(() -> latches.get(1).hasLeadership() || latches.get(2).hasLeadership(), "a new leader");
        check(!(latches.get(1).hasLeadership() && latches.get(2).hasLeadership()), "one new leader");
        int next = latches.get(1).hasLeadership() ? 1 : 2;
        owners.get(next).close(); // its session ends, not only the latch
        check(latches.get(3 - next).await(WAIT_SECONDS, TimeUnit.SECONDS), "the last one leads");
        latches.get(3 - next).close();
    }

    private static void next(BlockingQueue<String> events, String wanted) throws InterruptedException {
        equal(events.poll(WAIT_SECONDS, TimeUnit.SECONDS), wanted, "event");
    }

    private static void curatorCache() throws Exception {
        CuratorFramework writer = connect();
        CuratorFramework reader = connect();
        writer.create().creatingParentsIfNeeded().forPath("/curator/cache/old", bytes("0"));
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        CountDownLatch ready = new CountDownLatch(1);
        CuratorCache cache = CuratorCache.build(reader, "/curator/cache");
        cache.listenable().addListener(CuratorCacheListener.builder()
            .forCreates(node -> events.add("created " + node.getPath()))
            .forChanges((old, node) -> events.add(
                "changed " + node.getPath() + " " + new String(old.getData()) + ">" + new String(node.getData())))
            .forDeletes(node -> events.add("deleted " + node.getPath()))
            .forInitialized(ready::countDown).build());
        cache.start();
        check(ready.await(WAIT_SECONDS, TimeUnit.SECONDS), "cache filled");
        List<String> first = Arrays.asList(events.poll(), events.poll());
        check(first.contains("created /curator/cache") && first.contains("created /curator/cache/old"),
            "what was there before: " + first);

        // One at a time: the cache reads what was created or changed, so that a deletion may overtake that.
        writer.create().forPath("/curator/cache/new", bytes("1"));
        next(events, "created /curator/cache/new");
        writer.create().forPath("/curator/cache/new/deep", bytes("2"));
        next(events, "created /curator/cache/new/deep");
        writer.setData().forPath("/curator/cache/new", bytes("3"));
        next(events, "changed /curator/cache/new 1>3");
        writer.delete().deletingChildrenIfNeeded().forPath("/curator/cache/new");
        next(events, "deleted /curator/cache/new/deep");
        next(events, "deleted /curator/cache/new");
        writer.setData().forPath("/curator/cache/old", bytes("4"));
        next(events, "changed /curator/cache/old 0>4");
        equal(cache.stream().count(), 2L, "nodes in the cache");
        equal(new String(cache.get("/curator/cache/old").get().getData()), "4", "data in the cache");
        cache.close();
    }

    private static void treeCache() throws Exception {
        CuratorFramework writer = connect();
        TreeCache cache = TreeCache.newBuilder(connect(), "/curator/tree").build();
        writer.create().creatingParentsIfNeeded().forPath("/curator/tree/a/b", bytes("1"));
        cache.start();
        waitUntil(() -> cache.getCurrentData("/curator/tree/a/b") != null, "the tree is read");
        writer.setData().forPath("/curator/tree/a/b", bytes("2"));
        waitUntil(() -> new String(cache.getCurrentData("/curator/tree/a/b").getData()).equals("2"), "new data");
        writer.create().forPath("/curator/tree/a/c");
        waitUntil(() -> cache.getCurrentChildren("/curator/tree/a").size() == 2, "a new child");
        writer.delete().deletingChildrenIfNeeded().forPath("/curator/tree/a");
        waitUntil(() -> cache.getCurrentChildren("/curator/tree").isEmpty(), "all gone");
        cache.close();
    }

    private static void protectedCreate() throws Exception {
        CuratorFramework client = connect();
        String path = client.create().creatingParentsIfNeeded().withProtection()
            .withMode(CreateMode.EPHEMERAL_SEQUENTIAL).forPath("/curator/protected/n-", bytes("p"));
        String name = ZKPaths.getNodeFromPath(path);
        check(name.matches("_c_[0-9a-f-]{36}-n-0000000000"), "name of a protected node: " + name);
        Stat stat = client.checkExists().forPath(path);
        equal(stat.getEphemeralOwner(), client.getZookeeperClient().getZooKeeper().getSessionId(), "owner");
        client.delete().guaranteed().forPath(path);
        check(client.checkExists().forPath(path) == null, "gone");
    }

    private static void transactions() throws Exception {
        CuratorFramework client = connect();
        CuratorOp create = client.transactionOp().create().forPath("/tx", bytes("1"));
        CuratorOp sequence = client.transactionOp().create().withMode(CreateMode.PERSISTENT_SEQUENTIAL)
            .forPath("/tx/s-");
        CuratorOp set = client.transactionOp().setData().withVersion(0).forPath("/tx", bytes("2"));
        CuratorOp verify = client.transactionOp().check().withVersion(1).forPath("/tx");
        List<CuratorTransactionResult> results = client.transaction().forOperations(create, sequence, set, verify);
        equal(results.size(), 4, "results");
        equal(results.get(1).getResultPath(), "/tx/s-0000000000", "path of the sequence node");
        equal(results.get(2).getType(), OperationType.SET_DATA, "type");
        equal(results.get(2).getResultStat().getVersion(), 1, "version");

        CuratorOp remove = client.transactionOp().delete().forPath("/tx/s-0000000000");
        CuratorOp wrong = client.transactionOp().setData().withVersion(7).forPath("/tx", bytes("3"));
        try {
            client.transaction().forOperations(remove, wrong);
            check(false, "a transaction with a wrong version went through");
        } catch (KeeperException.BadVersionException e) {
            equal(e.getResults().size(), 2, "results of the failed one");
        }
        check(client.checkExists().forPath("/tx/s-0000000000") != null, "nothing was done");
        equal(new String(client.getData().forPath("/tx")), "2", "data");
    }

    private static void createModes() throws Exception {
        CuratorFramework client = connect();
        client.create().creatingParentContainersIfNeeded().forPath("/boxes/inner/leaf");
        client.create().withTtl(3600000).withMode(CreateMode.PERSISTENT_WITH_TTL).forPath("/ttl-node");
        Stat stat = new Stat();
        String path = client.create().orSetData().storingStatIn(stat).forPath("/boxes/inner/leaf", bytes("x"));
        equal(path, "/boxes/inner/leaf", "path");
        equal(client.checkExists().forPath(path).getVersion(), 1, "version after orSetData");
        client.create().idempotent().forPath("/idem", bytes("i"));
        client.create().idempotent().forPath("/idem", bytes("i"));
        client.setData().idempotent().withVersion(0).forPath("/idem", bytes("j"));
        client.delete().idempotent().forPath("/idem");
        client.delete().idempotent().forPath("/idem");
        client.delete().quietly().forPath("/idem");
    }

    private static void persistentNode() throws Exception {
        CuratorFramework owner = connect();
        CuratorFramework other = connect();
        PersistentNode node = new PersistentNode(owner, CreateMode.EPHEMERAL, false, "/curator/persistent", bytes("n"));
        node.start();
        check(node.waitForInitialCreate(WAIT_SECONDS, TimeUnit.SECONDS), "created");
        long before = other.checkExists().forPath("/curator/persistent").getCzxid();
        other.delete().forPath("/curator/persistent");
        waitUntil(() -> {
            Stat stat = other.checkExists().forPath("/curator/persistent");
            return stat != null && stat.getCzxid() > before;
        }, "it comes back");
        node.close();
        check(other.checkExists().forPath("/curator/persistent") == null, "gone when closed");
    }

    private static void atomicCounter() throws Exception {
        List<Callable<Void>> tasks = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            DistributedAtomicLong counter =
                new DistributedAtomicLong(connect(), "/curator/counter", new RetryOneTime(1));
            tasks.add(() -> {
                for (int done = 0; done < 20;) {
                    done += counter.increment().succeeded() ? 1 : 0;
                }
                return null;
            });
        }
        together(tasks);
        DistributedAtomicLong counter = new DistributedAtomicLong(connect(), "/curator/counter", new RetryOneTime(1));
        equal(counter.get().postValue(), 60L, "the sum");
    }

    private static void doubleBarrier() throws Exception {
        AtomicInteger inside = new AtomicInteger();
        List<Callable<Void>> tasks = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            DistributedDoubleBarrier barrier = new DistributedDoubleBarrier(connect(), "/curator/barrier", 3);
            tasks.add(() -> {
                check(barrier.enter(WAIT_SECONDS, TimeUnit.SECONDS), "entered");
                inside.incrementAndGet();
                check(barrier.leave(WAIT_SECONDS, TimeUnit.SECONDS), "left");
                equal(inside.get(), 3, "all were inside before the first left");
                return null;
            });
        }
        together(tasks);
    }
}
