package bugreport

import "strings"

// A question reads state of the daemon, by a GET request on the control socket.
type question struct{ path, file string }

// questions are all operations that read and need no parameters, or can be asked with those given here. A
// test in package cmd/internal/modules checks that every operation that reads is here or in Unasked.
var questions = []question{
	{"/v1/status", "status.json"}, // the data of "lnetctl net show" and "lnetctl stats show"; asked first, to find out whether the daemon answers
	{"/v1/config", "config.json"},
	{"/v1/log", "log.json"},
	{"/v1/keys", "keys.json"},
	{"/v1/peers?limit=1000", "peers.json"},
	{"/v1/routes", "routes.json"},
	{"/v1/routing", "routing.json"},
	{"/v1/udsp", "udsp.json"},
	{"/v1/handlers", "handlers.json"},
	{"/v1/metrics", "metrics.json"},
	{"/v1/gossip", "gossip.json"},
	{"/v1/gossip/params", "gossip-params.json"},
	{"/v1/gossip/history", "gossip-history.json"},
	{"/v1/gossip/list", "gossip-list.json"},
	{"/v1/zone", "zone.json"},
	{"/v1/zone/attributes", "zone-attributes.json"},
	{"/v1/zone/census", "zone-census.json"},
	{"/v1/zone/events?from=0", "zone-events.json"},
	{"/v1/zone/members", "zone-members.json"},
	{"/v1/zone/suspicions", "zone-suspicions.json"},
	{"/v1/zone/topology", "zone-topology.json"},
	{"/v1/mcast", "mcast.json"},
	{"/v1/scoll", "scoll.json"},
	{"/v1/health", "health.json"},
	{"/v1/health/clients?limit=1000", "health-clients.json"},
	{"/v1/health/servers", "health-servers.json"},
	{"/v1/health/history", "health-history.json"},
	{"/v1/health/tombstones", "health-tombstones.json"},
	{"/v1/selftest", "selftest.json"},
	{"/v1/selftest/latencies", "selftest-latencies.json"},
	{"/v1/selftest/session", "selftest-session.json"},
	{"/v1/selftest/groups", "selftest-groups.json"},
	{"/v1/selftest/batches", "selftest-batches.json"},
}

// Unasked are the paths of the operations that read and whose answers a report does not contain, each
// with the reason.
var Unasked = map[string]string{
	"/v1/capture":              "has the payload of messages",
	"/v1/events":               "has no end; the log is in the report",
	"/v1/profile/{profile}":    "read as text",
	"/v1/connections":          "asked for each network of the node",
	"/v1/distance":             "is about one NID",
	"/v1/path":                 "is about one NID",
	"/v1/gossip/explain/{nid}": "is about one NID",
	"/v1/health/client":        "is about one client",
	"/v1/health/eviction":      "is about one client",
	"/v1/health/everywhere":    "asks all other servers",
	"/v1/zone/explain":         "is about one node",
	"/v1/zone/of":              "is about one base zone",
	"/v1/selftest/group":       "is about one group",
	"/v1/selftest/batch":       "is about one batch",
}

// Asked returns the paths, without parameters, of the operations whose answers a report contains.
func Asked() (paths []string) {
	for _, q := range questions {
		path, _, _ := strings.Cut(q.path, "?")
		paths = append(paths, path)
	}
	return paths
}
