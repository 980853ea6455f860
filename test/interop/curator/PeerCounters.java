// SPDX-License-Identifier: Apache-2.0

import java.util.Map;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicInteger;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.SharedValue;
import org.apache.curator.retry.RetryNTimes;

/** Shared count and value, distributed atomics. */
final class PeerCounters {
    private PeerCounters() {
    }

    private static SharedCount count(CuratorPeer.Actor a, String path) throws Exception {
        return a.thing("count " + path, () -> {
            SharedCount made = new SharedCount(a.client, path, 0);
            made.start();
            return made;
        });
    }

    private static SharedValue value(CuratorPeer.Actor a, String path) throws Exception {
        return a.thing("value " + path, () -> {
            SharedValue made = new SharedValue(a.client, path, CuratorPeer.bytes("seed"));
            made.start();
            return made;
        });
    }

    private static DistributedAtomicLong atomic(CuratorPeer.Actor a, String path) {
        return new DistributedAtomicLong(a.client, path, new RetryNTimes(3, 1));
    }

    private static void sharedVerbs(Map<String, CuratorPeer.Verb> verbs) {
        verbs.put("count-add", (a, v) -> { // so many steps of one, each by compare-and-set
            for (int done = 0; done < Integer.parseInt(v[1]);) {
                SharedCount count = count(a, v[0]);
                done += count.trySetCount(count.getVersionedValue(), count.getCount() + 1) ? 1 : 0;
            }
            return "";
        });
        verbs.put("count-await", (a, v) -> CuratorPeer.yesNo(CuratorPeer.within(v[2],
            () -> count(a, v[0]).getCount() == Integer.parseInt(v[1]))));
        verbs.put("count-set", (a, v) -> {
            count(a, v[0]).setCount(Integer.parseInt(v[1]));
            return "";
        });
        verbs.put("value-set", (a, v) -> {
            value(a, v[0]).setValue(CuratorPeer.bytes(v[1]));
            return "";
        });
        verbs.put("value-await", (a, v) -> CuratorPeer.yesNo(CuratorPeer.within(v[2],
            () -> new String(value(a, v[0]).getValue()).equals(v[1]))));
    }

    private static void atomicVerbs(Map<String, CuratorPeer.Verb> verbs) {
        verbs.put("atomic-add", (a, v) -> { // so many steps of one
            DistributedAtomicLong atomic = atomic(a, v[0]);
            for (int done = 0; done < Integer.parseInt(v[1]);) {
                done += atomic.increment().succeeded() ? 1 : 0;
            }
            return "";
        });
        verbs.put("atomic-get", (a, v) -> Long.toString(atomic(a, v[0]).get().postValue()));
        verbs.put("atomic-set", (a, v) -> {
            atomic(a, v[0]).forceSet(Long.parseLong(v[1]));
            return "";
        });
        verbs.put("int-add", (a, v) -> {
            DistributedAtomicInteger atomic =
                new DistributedAtomicInteger(a.client, v[0], new RetryNTimes(3, 1));
            for (int done = 0; done < Integer.parseInt(v[1]);) {
                AtomicValue<Integer> result = atomic.increment();
                done += result.succeeded() ? 1 : 0;
            }
            return "";
        });
        verbs.put("int-get", (a, v) -> Integer.toString(
            new DistributedAtomicInteger(a.client, v[0], new RetryNTimes(3, 1)).get().postValue()));
    }

    static void addTo(Map<String, CuratorPeer.Verb> verbs) {
        sharedVerbs(verbs);
        atomicVerbs(verbs);
    }
}
