// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.curator.framework.recipes.nodes.GroupMember;

/** Group membership. */
final class PeerGroups {
    private PeerGroups() {
    }

    /** "id=data,id=data", by id. */
    private static String text(GroupMember member) {
        List<String> all = new ArrayList<>();
        new TreeMap<>(member.getCurrentMembers()).forEach((id, data) -> all.add(id + "=" + new String(data)));
        return String.join(",", all);
    }

    static void addTo(Map<String, CuratorPeer.Verb> verbs) {
        verbs.put("group-join", (a, v) -> {
            GroupMember member = new GroupMember(a.client, v[0], v[1], CuratorPeer.bytes(v[2]));
            member.start();
            a.things.put("group " + v[0], member);
            return "";
        });
        verbs.put("group-await", (a, v) -> {
            GroupMember member = (GroupMember) a.things.get("group " + v[0]);
            CuratorPeer.within(v[2], () -> text(member).equals(v[1]));
            return text(member);
        });
        verbs.put("group-leave", (a, v) -> {
            ((GroupMember) a.things.remove("group " + v[0])).close();
            return "";
        });
    }
}
