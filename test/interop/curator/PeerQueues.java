// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.queue.DistributedDelayQueue;
import org.apache.curator.framework.recipes.queue.DistributedIdQueue;
import org.apache.curator.framework.recipes.queue.DistributedPriorityQueue;
import org.apache.curator.framework.recipes.queue.DistributedQueue;
import org.apache.curator.framework.recipes.queue.MultiItem;
import org.apache.curator.framework.recipes.queue.QueueBase;
import org.apache.curator.framework.recipes.queue.QueueBuilder;
import org.apache.curator.framework.recipes.queue.QueueConsumer;
import org.apache.curator.framework.recipes.queue.QueueSerializer;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.framework.state.ConnectionState;

/** The queues. Items are words. */
final class PeerQueues {
    private PeerQueues() {
    }

    private static final QueueSerializer<String> WORDS = new QueueSerializer<String>() {
        @Override
        public byte[] serialize(String item) {
            return CuratorPeer.bytes(item);
        }

        @Override
        public String deserialize(byte[] bytes) {
            return new String(bytes);
        }
    };

    private static final class Taken implements QueueConsumer<String> {
        final BlockingQueue<String> items = new LinkedBlockingQueue<>();

        @Override
        public void consumeMessage(String item) {
            items.add(item);
        }

        @Override
        public void stateChanged(CuratorFramework client, ConnectionState state) {
        }
    }

    private static QueueBuilder<String> builder(CuratorPeer.Actor a, QueueConsumer<String> consumer, String path) {
        return QueueBuilder.builder(a.client, consumer, WORDS, path);
    }

    private static QueueBase<String> build(QueueBuilder<String> builder, String kind) {
        switch (kind) {
        case "id":
            return builder.buildIdQueue();
        case "priority":
            return builder.buildPriorityQueue(0);
        case "delay":
            return builder.buildDelayQueue();
        default:
            return builder.buildQueue();
        }
    }

    private static MultiItem<String> several(String words) {
        Iterator<String> each = Arrays.asList(words.split(",")).iterator();
        return () -> each.hasNext() ? each.next() : null;
    }

    /** KIND PATH KEY ITEM: the key is the id, the priority, or the milliseconds to wait. */
    private static String put(CuratorPeer.Actor a, String[] v) throws Exception {
        try (QueueBase<String> queue = build(builder(a, null, v[1]), v[0])) {
            queue.start();
            switch (v[0]) {
            case "id":
                ((DistributedIdQueue<String>) queue).put(v[3], v[2]);
                break;
            case "priority":
                ((DistributedPriorityQueue<String>) queue).put(v[3], Integer.parseInt(v[2]));
                break;
            case "delay":
                ((DistributedDelayQueue<String>) queue).put(v[3],
                    System.currentTimeMillis() + Long.parseLong(v[2]));
                break;
            default:
                if (v[3].indexOf(',') >= 0) {
                    ((DistributedQueue<String>) queue).putMulti(several(v[3]));
                } else {
                    ((DistributedQueue<String>) queue).put(v[3]);
                }
            }
            CuratorPeer.yesOrThrow(queue.flushPuts(20, TimeUnit.SECONDS), "flushed");
        }
        return "";
    }

    /** KIND PATH N [LOCKS]: the next N items. */
    private static String take(CuratorPeer.Actor a, String[] v) throws Exception {
        Taken taken = new Taken();
        List<String> items = new ArrayList<>();
        QueueBuilder<String> builder = builder(a, taken, v[1]);
        if (v.length > 3) {
            builder = builder.lockPath(v[3]);
        }
        try (QueueBase<String> queue = build(builder, v[0])) {
            queue.start();
            while (items.size() < Integer.parseInt(v[2])) {
                String item = taken.items.poll(30, TimeUnit.SECONDS);
                CuratorPeer.yesOrThrow(item != null, "an item after " + items);
                items.add(item);
            }
        }
        items.addAll(taken.items);
        return String.join(" ", items);
    }

    static void addTo(Map<String, CuratorPeer.Verb> verbs) {
        verbs.put("queue-put", PeerQueues::put);
        verbs.put("queue-take", PeerQueues::take);
        verbs.put("queue-remove", (a, v) -> {
            try (DistributedIdQueue<String> queue = builder(a, null, v[0]).buildIdQueue()) {
                queue.start();
                return Integer.toString(queue.remove(v[1]));
            }
        });
        verbs.put("simple-offer", (a, v) -> CuratorPeer.yesNo(
            new SimpleDistributedQueue(a.client, v[0]).offer(CuratorPeer.bytes(v[1]))));
        verbs.put("simple-take", (a, v) -> {
            byte[] item = new SimpleDistributedQueue(a.client, v[0])
                .poll(Long.parseLong(v[1]), TimeUnit.MILLISECONDS);
            CuratorPeer.yesOrThrow(item != null, "an item");
            return new String(item);
        });
    }
}
