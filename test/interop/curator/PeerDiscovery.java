// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.curator.x.discovery.ServiceDiscovery;
import org.apache.curator.x.discovery.ServiceDiscoveryBuilder;
import org.apache.curator.x.discovery.ServiceInstance;
import org.apache.curator.x.discovery.ServiceType;
import org.apache.curator.x.discovery.UriSpec;

/** Service discovery; in a file of its own because not everybody has its jar. */
public final class PeerDiscovery {
    private PeerDiscovery() {
    }

    private static ServiceDiscovery<String> discovery(CuratorPeer.Actor a, String base) throws Exception {
        return a.thing("disc " + base, () -> {
            ServiceDiscovery<String> made =
                ServiceDiscoveryBuilder.builder(String.class).client(a.client).basePath(base).build();
            made.start();
            return made;
        });
    }

    /** BASE NAME ID ADDRESS PORT PAYLOAD TYPE */
    private static String register(CuratorPeer.Actor a, String[] v) throws Exception {
        ServiceInstance<String> instance = ServiceInstance.<String>builder().name(v[1]).id(v[2]).address(v[3])
            .port(Integer.parseInt(v[4])).payload(v[5]).registrationTimeUTC(1600000000000L)
            .serviceType(ServiceType.valueOf(v[6])).uriSpec(new UriSpec("{scheme}://{address}:{port}")).build();
        discovery(a, v[0]).registerService(instance);
        a.things.put("instance " + v[2], instance);
        return "";
    }

    /** BASE NAME: "id=address:port/payload/TYPE" each. */
    private static String find(CuratorPeer.Actor a, String[] v) throws Exception {
        List<String> found = new ArrayList<>();
        for (ServiceInstance<String> i : discovery(a, v[0]).queryForInstances(v[1])) {
            found.add(i.getId() + "=" + i.getAddress() + ":" + i.getPort() + "/" + i.getPayload() + "/"
                + i.getServiceType() + "/" + i.buildUriSpec());
        }
        Collections.sort(found);
        return String.join(" ", found);
    }

    @SuppressWarnings("unchecked")
    public static void addTo(Map<String, CuratorPeer.Verb> verbs) {
        verbs.put("disc-register", PeerDiscovery::register);
        verbs.put("disc-find", PeerDiscovery::find);
        verbs.put("disc-unregister", (a, v) -> {
            discovery(a, v[0]).unregisterService((ServiceInstance<String>) a.things.remove("instance " + v[1]));
            return "";
        });
    }
}
