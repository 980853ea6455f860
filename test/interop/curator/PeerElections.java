// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.leader.Participant;

/** Latch, selector and the barriers. */
final class PeerElections {
    private PeerElections() {
    }

    /** "id" of each in the order of the queue, the leader's with a star. */
    private static String text(Collection<Participant> participants) {
        List<String> names = new ArrayList<>();
        for (Participant p : participants) {
            names.add(p.getId() + (p.isLeader() ? "*" : ""));
        }
        return String.join(" ", names);
    }

    private static void latchVerbs(Map<String, CuratorPeer.Verb> verbs) {
        verbs.put("latch-start", (a, v) -> {
            LeaderLatch latch = new LeaderLatch(a.client, v[0], v[1]);
            latch.start();
            a.things.put("latch " + v[0], latch);
            return "";
        });
        verbs.put("latch-await", (a, v) -> CuratorPeer.yesNo(
            ((LeaderLatch) a.things.get("latch " + v[0])).await(Long.parseLong(v[1]), TimeUnit.MILLISECONDS)));
        verbs.put("latch-leads", (a, v) -> CuratorPeer.yesNo(
            ((LeaderLatch) a.things.get("latch " + v[0])).hasLeadership()));
        verbs.put("latch-participants", (a, v) ->
            text(((LeaderLatch) a.things.get("latch " + v[0])).getParticipants()));
        verbs.put("latch-close", (a, v) -> {
            ((LeaderLatch) a.things.remove("latch " + v[0])).close();
            return "";
        });
    }

    /** Leads until it is told to yield. */
    private static final class Leading extends LeaderSelectorListenerAdapter {
        private boolean yield;

        @Override
        public synchronized void takeLeadership(CuratorFramework client) throws InterruptedException {
            while (!yield) {
                wait();
            }
            yield = false; // not before: it is told as soon as hasLeadership() is true
        }

        synchronized void yield() {
            yield = true;
            notifyAll();
        }
    }

    private static void selectorVerbs(Map<String, CuratorPeer.Verb> verbs) {
        verbs.put("selector-start", (a, v) -> {
            Leading leading = new Leading();
            LeaderSelector selector = new LeaderSelector(a.client, v[0], leading);
            selector.setId(v[1]);
            selector.autoRequeue();
            selector.start();
            a.things.put("selector " + v[0], selector);
            a.things.put("leading " + v[0], leading);
            return "";
        });
        verbs.put("selector-await", (a, v) -> {
            LeaderSelector selector = (LeaderSelector) a.things.get("selector " + v[0]);
            return CuratorPeer.yesNo(CuratorPeer.within(v[1], selector::hasLeadership));
        });
        verbs.put("selector-leads", (a, v) -> CuratorPeer.yesNo(
            ((LeaderSelector) a.things.get("selector " + v[0])).hasLeadership()));
        verbs.put("selector-yield", (a, v) -> {
            ((Leading) a.things.get("leading " + v[0])).yield();
            return "";
        });
        verbs.put("selector-participants", (a, v) ->
            text(((LeaderSelector) a.things.get("selector " + v[0])).getParticipants()));
        verbs.put("selector-close", (a, v) -> {
            ((LeaderSelector) a.things.remove("selector " + v[0])).close();
            return "";
        });
    }

    private static DistributedDoubleBarrier twofold(CuratorPeer.Actor a, String path, String members)
        throws Exception {
        return a.thing("double " + path,
            () -> new DistributedDoubleBarrier(a.client, path, Integer.parseInt(members)));
    }

    private static void barrierVerbs(Map<String, CuratorPeer.Verb> verbs) {
        verbs.put("barrier-set", (a, v) -> {
            new DistributedBarrier(a.client, v[0]).setBarrier();
            return "";
        });
        verbs.put("barrier-remove", (a, v) -> {
            new DistributedBarrier(a.client, v[0]).removeBarrier();
            return "";
        });
        verbs.put("barrier-wait", (a, v) -> CuratorPeer.yesNo(new DistributedBarrier(a.client, v[0])
            .waitOnBarrier(Long.parseLong(v[1]), TimeUnit.MILLISECONDS)));
        verbs.put("double-enter", (a, v) -> CuratorPeer.yesNo(
            twofold(a, v[0], v[1]).enter(Long.parseLong(v[2]), TimeUnit.MILLISECONDS)));
        verbs.put("double-leave", (a, v) -> CuratorPeer.yesNo(
            twofold(a, v[0], v[1]).leave(Long.parseLong(v[2]), TimeUnit.MILLISECONDS)));
    }

    static void addTo(Map<String, CuratorPeer.Verb> verbs) {
        latchVerbs(verbs);
        selectorVerbs(verbs);
        barrierVerbs(verbs);
    }
}
