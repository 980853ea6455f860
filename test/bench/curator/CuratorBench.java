/* SPDX-License-Identifier: Apache-2.0 */
import java.io.BufferedReader;
import java.io.FileReader;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.framework.recipes.cache.PathChildrenCache;
import org.apache.curator.framework.recipes.cache.PathChildrenCacheEvent;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * The modes of recipe_bench.c with Java Curator, and the same figures printed. It ends without closing
 * its sessions, so each run has locks of its own.
 */
public class CuratorBench {
    static final Map<String, String> options = new HashMap<>();
    static final AtomicLong done = new AtomicLong();
    /** Not the place of another run: its sessions may still be there. */
    static final String HOME = "/bench/java-" + ProcessHandle.current().pid();
    static volatile boolean stopping;

    static int option(String name, int otherwise) {
        return Integer.parseInt(options.getOrDefault(name, "" + otherwise));
    }

    static double seconds(String name, double otherwise) {
        return Double.parseDouble(options.getOrDefault(name, "" + otherwise));
    }

    static CuratorFramework open() throws Exception {
        CuratorFramework c = CuratorFrameworkFactory.builder()
                .connectString(options.get("--servers")).sessionTimeoutMs(30000)
                .connectionTimeoutMs(20000).retryPolicy(new ExponentialBackoffRetry(100, 5)).build();
        c.start();
        if (!c.blockUntilConnected(20, java.util.concurrent.TimeUnit.SECONDS)) {
            throw new IllegalStateException("not connected");
        }
        return c;
    }

    static long cpuNs() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    static void window() throws Exception {
        Thread.sleep((long) (seconds("--warmup", 0.5) * 1000));
        long n = done.get(), cpu = cpuNs(), began = System.nanoTime();
        Thread.sleep((long) (seconds("--seconds", 2) * 1000));
        n = done.get() - n;
        long took = System.nanoTime() - began;
        cpu = cpuNs() - cpu;
        stopping = true;
        System.out.printf("rate=%.1f cpu_ms_per_1k=%.2f%n", n * 1e9 / took, cpu / 1e3 / Math.max(n, 1));
    }

    static Thread contender(InterProcessMutex lock, AtomicInteger inside) {
        Thread t = new Thread(() -> {
            try {
                while (!stopping) {
                    lock.acquire();
                    if (inside.getAndIncrement() != 0) {
                        System.err.println("two holders");
                        System.exit(1);
                    }
                    inside.decrementAndGet();
                    lock.release();
                    done.incrementAndGet();
                }
            } catch (Exception e) {
                if (!stopping) {
                    e.printStackTrace();
                    System.exit(1);
                }
            }
        });
        t.setDaemon(true);
        t.start();
        return t;
    }

    static void contend(int n, String path) throws Exception {
        AtomicInteger inside = new AtomicInteger();
        for (int i = 0; i < n; i++) {
            contender(new InterProcessMutex(open(), path), inside);
        }
        window();
    }

    static void many() throws Exception {
        int locks = option("--locks", 64), clients = option("--clients", 8);
        List<AtomicInteger> inside = new ArrayList<>();
        for (int i = 0; i < locks; i++) {
            inside.add(new AtomicInteger());
        }
        for (int c = 0; c < clients; c++) {
            CuratorFramework client = open();
            for (int i = 0; i < locks; i++) {
                contender(new InterProcessMutex(client, HOME + "/many/" + i), inside.get(i));
            }
        }
        window();
    }

    static long rssKb() throws Exception {
        try (BufferedReader r = new BufferedReader(new FileReader("/proc/self/status"))) {
            for (String line; (line = r.readLine()) != null; ) {
                if (line.startsWith("VmRSS:")) {
                    return Long.parseLong(line.replaceAll("[^0-9]", ""));
                }
            }
        }
        throw new IllegalStateException("no VmRSS");
    }

    /** A thread for each, because an acquire of Curator's blocks one. */
    static void queued() throws Exception {
        int locks = option("--locks", 64);
        CuratorFramework client = open();
        InterProcessMutex first = new InterProcessMutex(client, HOME + "/queued");
        first.acquire();
        for (int i = 0; i < locks; i++) {
            contender(new InterProcessMutex(client, HOME + "/queued"), new AtomicInteger());
        }
        while (client.getChildren().forPath(HOME + "/queued").size() < locks + 1) {
            Thread.sleep(50);
        }
        System.out.println("rss_kb=" + rssKb());
    }

    /** What waits for the end of the changes; the time runs from the first one. */
    static void follow(CountDownLatch end, long[] first) throws Exception {
        System.out.println("ready=1");
        System.out.flush();
        end.await();
        long took = System.nanoTime() - first[0];
        System.out.printf("rate=%.1f%n", option("--changes", 20000) * 1e9 / took);
    }

    static void curatorCache(boolean follows) throws Exception {
        CuratorFramework client = open();
        CountDownLatch initialized = new CountDownLatch(1), end = new CountDownLatch(1);
        long[] first = {0};
        CuratorCache cache = CuratorCache.build(client, "/bench/cache");
        cache.listenable().addListener(CuratorCacheListener.builder().forInitialized(initialized::countDown)
                .build());
        cache.listenable().addListener(CuratorCacheListener.builder().afterInitialized()
                .forAll((type, old, now) -> {
                    if (first[0] == 0) {
                        first[0] = System.nanoTime();
                    }
                    if (type == CuratorCacheListener.Type.NODE_CREATED && now.getPath().endsWith("/end")) {
                        end.countDown();
                    }
                }).build());
        long began = System.nanoTime();
        cache.start();
        initialized.await();
        System.out.printf("ms=%.1f nodes=%d%n", (System.nanoTime() - began) / 1e6, cache.size());
        if (follows) {
            follow(end, first);
        }
    }

    static void childrenCache(boolean follows) throws Exception {
        CuratorFramework client = open();
        CountDownLatch initialized = new CountDownLatch(1), end = new CountDownLatch(1);
        long[] first = {0};
        PathChildrenCache cache = new PathChildrenCache(client, "/bench/cache", true);
        cache.getListenable().addListener((c, event) -> {
            if (event.getType() == PathChildrenCacheEvent.Type.INITIALIZED) {
                initialized.countDown();
            } else if (initialized.getCount() == 0) {
                if (first[0] == 0) {
                    first[0] = System.nanoTime();
                }
                if (event.getType() == PathChildrenCacheEvent.Type.CHILD_ADDED) {
                    end.countDown();
                }
            }
        });
        long began = System.nanoTime();
        cache.start(PathChildrenCache.StartMode.POST_INITIALIZED_EVENT);
        initialized.await();
        System.out.printf("ms=%.1f nodes=%d%n", (System.nanoTime() - began) / 1e6,
                cache.getCurrentData().size());
        if (follows) {
            follow(end, first);
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 1; i + 1 < args.length; i += 2) {
            options.put(args[i], args[i + 1]);
        }
        boolean newer = !"children".equals(options.get("--kind"));
        boolean follows = args[0].equals("follow");
        switch (args[0]) {
            case "pairs" -> contend(1, HOME + "/pairs");
            case "contend" -> contend(option("--clients", 8), HOME + "/contend");
            case "many" -> many();
            case "queued" -> queued();
            case "cache", "follow" -> {
                if (newer) {
                    curatorCache(follows);
                } else {
                    childrenCache(follows);
                }
            }
            default -> throw new IllegalArgumentException(args[0]);
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
