package metrics

import (
	"ulnet/cmd/internal/modules/health"
	"ulnet/lnet/selftest"
)

// healthTable has what 'lnetctl health' shows of the roles of this node in client health.
func healthTable() []group {
	type server = *health.ServerRole
	type client = *health.ClientRole
	type store = *health.StoreStatus
	servers := func(s *state, yield func(server, ...string)) {
		if s.health != nil && s.health.Server != nil {
			yield(s.health.Server)
		}
	}
	clients := func(s *state, yield func(client, ...string)) {
		if s.health != nil && s.health.Client != nil {
			yield(s.health.Client)
		}
	}
	return []group{
		&objects[server]{each: servers, rows: []row[server]{
			{"health_server_running", "ratio", "1: the server of client health runs; 0: it waits for what it needs.", func(s server) float64 { return oneIf(s.State == health.Running) }},
			{"health_server_quorum", "ratio", "1: this server reaches a majority of the servers; 0: it does not.", func(s server) float64 { return oneIf(s.Quorum) }},
			{"health_servers", "nodes", "Servers of client health.", func(s server) float64 { return number(s.Known) }},
			{"health_servers_alive", "nodes", "Servers that are alive, this one included.", func(s server) float64 { return number(s.Alive) }},
			{"health_clients", "clients", "Connections of clients at this server, in any state.", func(s server) float64 { return number(s.Clients) }},
			{"health_clients_max", "clients", "Connections of clients that this server may have.", func(s server) float64 { return number(s.MaxClients) }},
			{"health_clients_mastered", "clients", "Clients whose master this server is.", func(s server) float64 { return number(s.Mastered) }},
			{"health_clients_orphaned", "clients", "Clients whose master is dead.", func(s server) float64 { return number(s.Orphaned) }},
			{"health_clients_recovering", "clients", "Clients from before a restart that are not confirmed.", func(s server) float64 { return number(s.Recovering) }},
			{"health_clients_evicting", "clients", "Clients that this server is evicting.", func(s server) float64 { return number(s.Evicting) }},
			{"health_tombstones", "tombstones", "Evictions that are remembered.", func(s server) float64 { return number(s.Tombstones) }},
			{"health_server_paused_seconds_total", "seconds", "Length of all pauses of this process that the server noticed.", func(s server) float64 { return number(s.Stats[pausedMS]) / 1e3 }},
			{"health_eviction_broadcasts", "broadcasts", "Broadcasts of evictions that some server has not answered.", func(s server) float64 { return number(s.Batches) }},
		}},
		&objects[uint64]{labels: []string{"event"}, each: func(s *state, yield func(uint64, ...string)) {
			servers(s, func(h server, _ ...string) {
				eachEvent(h.Stats, func(n uint64, event ...string) {
					if event[0] != pausedMS {
						yield(n, event...)
					}
				})
			})
		}, rows: events("health_server_events_total", "What the server of client health did and refused, by the names of 'lnetctl health --json'.")},
		&objects[store]{each: func(s *state, yield func(store, ...string)) {
			servers(s, func(h server, _ ...string) {
				if h.Store != nil {
					yield(h.Store)
				}
			})
		}, rows: []row[store]{
			{"health_store_records", "records", "Connections of clients that are saved.", func(s store) float64 { return number(s.Records) }},
			{"health_store_waiting", "records", "Changes that wait for the disk.", func(s store) float64 { return number(s.Waiting) }},
			{"health_store_saved_total", "records", "Changes that were saved.", func(s store) float64 { return number(s.Saved) }},
			{"health_store_failed_total", "records", "Changes that could not be saved.", func(s store) float64 { return number(s.Failed) }},
			{"health_store_commits_total", "commits", "Commits of the database, with those that failed.", func(s store) float64 { return number(s.Commits) }},
			{"health_store_slowest_commit_seconds", "seconds", "Duration of the longest commit so far.", func(s store) float64 { return s.Slowest.Seconds() }},
			{"health_store_ok", "ratio", "1: the last commit succeeded; 0: it failed, or the database is not open.", func(s store) float64 { return oneIf(s.Error == "") }},
		}},
		&objects[client]{each: clients, rows: []row[client]{
			{"health_client_settled", "ratio", "1: this client has a master; 0: it has none.", func(c client) float64 { return oneIf(c.State == "settled") }},
			{"health_client_attached", "nodes", "Servers to which this client is connected, its master included.", func(c client) float64 { return number(len(c.Attached)) }},
			{"health_client_heard_seconds", "seconds", "Time since the last message of the master.", func(c client) float64 { return c.Heard.Seconds() }},
		}},
		&objects[uint64]{labels: []string{"event"}, each: func(s *state, yield func(uint64, ...string)) {
			clients(s, func(c client, _ ...string) { eachEvent(c.Stats, yield) })
		}, rows: events("health_client_events_total", "What this client of client health did, by the names of 'lnetctl health --json'.")},
	}
}

// pausedMS is the only element of health.ServerRole.Stats that does not count events.
const pausedMS = "paused_ms"

// selftestTable has what the test node of lnet_selftest counts.
func selftestTable() []group {
	type status = *selftest.Status
	each := func(s *state, yield func(status, ...string)) {
		if s.selftest != nil {
			yield(s.selftest)
		}
	}
	return []group{
		&objects[status]{each: each, rows: []row[status]{
			{"selftest_calls", "calls", "Test RPCs of this node as client that are under way.", func(s status) float64 { return number(s.Calls) }},
			{"selftest_moving_bytes", "bytes", "Bulk data that this test node serves now.", func(s status) float64 { return number(s.Moving) }},
			{"selftest_got_bytes_total", "bytes", "Bulk data that this test node has got as server.", func(s status) float64 { return number(s.BulkGet) }},
			{"selftest_put_bytes_total", "bytes", "Bulk data that this test node has put as server.", func(s status) float64 { return number(s.BulkPut) }},
		}},
		&objects[uint64]{labels: []string{"event"}, each: func(s *state, yield func(uint64, ...string)) {
			each(s, func(t status, _ ...string) {
				counters := countersOf(*t)
				delete(counters, "bulk_get") // bulk_get and bulk_put count bytes, so they are no events
				delete(counters, "bulk_put")
				eachEvent(counters, yield)
			})
		}, rows: events("selftest_events_total", "What the test node did and refused.")},
	}
}
