// Package control is the daemon's control interface: HTTP/1.1 with JSON on a
// Unix socket, its server and its client.
//
//	GET  /v1/status     the node's state, node.Status
//	GET  /v1/peers      node.PeerPage; ?after=NID&limit=N, or ?nid=NID
//	GET  /v1/events     what the daemon logs from now on, one JSON object a line
//	GET  /v1/capture    every message from now on, as pcapng
//	POST /v1/ping       node.PingRequest, answered by node.PingReply
//	POST /v1/discover   node.DiscoverRequest, answered by node.DiscoverReply
//	POST /v1/set        node.Setting, answered by itself
//	POST /v1/net/add    node.AddRequest, answered by itself
//	POST /v1/net/del    node.RemoveRequest, answered by itself
//	POST /v1/fault/fail node.FailRequest, answered by itself
//	POST /v1/fault/add  node.AddFault, answered by node.AddedFault
//	POST /v1/fault/end  node.EndFault, answered by itself
//	POST /v1/msg/sink   node.SinkRequest, answered by steps
//	POST /v1/msg/put    node.PutRequest and the data, answered by steps
//	POST /v1/msg/serve  node.ServeRequest and the content, answered by steps
//	POST /v1/msg/get    node.GetRequest, answered by steps
//
//	GET  /v1/gossip                what gossip knows, node.GossipStatus
//	GET  /v1/gossip/params         node.GossipParams
//	GET  /v1/gossip/history        []node.GossipChange
//	GET  /v1/gossip/explain/{nid}  gossip.Explanation
//	GET  /v1/gossip/list           gossip.RollStatus
//	POST /v1/gossip/init           node.GossipInit and NIDs as text, answered by the former
//	POST /v1/gossip/start          {}, answered by itself; also stop, list/cancel
//	POST /v1/gossip/list/stage     {} and NIDs as text, answered by {}
//	POST /v1/gossip/list/commit    node.GossipCommit, answered by itself
//
//	GET  /v1/scoll                what is known of collectives, node.CollectiveStatus
//	POST /v1/scoll/broadcast      node.BroadcastRequest and bulk data, answered by node.BroadcastReply
//	POST /v1/scoll/bench          node.BenchRequest, answered by node.BenchReply
//	POST /v1/scoll/group/create   node.GroupCreate and NIDs as text, answered by the former
//	POST /v1/scoll/group/destroy  node.GroupName, answered by itself
//
//	GET  /v1/health          what is known of client health, node.HealthStatus
//	GET  /v1/health/clients  node.HealthClients; ?master=NID&nid=NID&state=STATE&limit=N
//	GET  /v1/health/everywhere  node.HealthEverywhere, what all servers say; ?limit=N&differ=BOOL
//	GET  /v1/health/client   health.ClientInfo; ?client=ID or name
//	GET  /v1/health/servers  []node.HealthPeer
//	GET  /v1/health/eviction    node.HealthEviction; ?client=ID&incarnation=N
//	GET  /v1/health/history     node.HealthPast; ?client=ID or name&nid=NID&since=AGE&limit=N
//	GET  /v1/health/tombstones  node.HealthTombstones; likewise
//	POST /v1/health/evict    node.HealthEvict, answered by node.HealthEvicted
//	POST /v1/health/drain    node.HealthDrain, answered by itself
//
//	GET  /v1/zone             the state of the zone in numbers, zone.AgentStatus
//	GET  /v1/zone/members     []node.ZoneMember; ?state=REGEXP&tag=KEY=REGEXP, tag as often as wanted
//	GET  /v1/zone/events      node.ZoneEvents; ?from=NUMBER
//	GET  /v1/zone/suspicions  []zone.SuspicionStatus
//	GET  /v1/zone/census      []zone.CensusEntry
//	GET  /v1/zone/of          []zone.Named; ?zone=NAME
//	GET  /v1/zone/topology    node.ZoneTopology
//	GET  /v1/zone/attributes  node.ZoneAttributes; ?node=NAME or id
//	GET  /v1/zone/explain     zone.Explanation; ?node=NAME or id
//	POST /v1/zone/write       node.ZoneWrite, answered by itself
//
//	GET  /v1/handlers       []handlers.Status, the event handlers
//	POST /v1/handlers/test  node.HandlerName, answered by handlers.Run when the run has ended
//
// A request is one JSON object on one line; data follow it as they are, to the
// end of the body. Steps are JSON objects on a line each, see [Frame]; payload
// bytes follow the line that announces them. The last step says how the
// operation ended; a client that closes its connection ends the operation.
//
// An answer other than 200 has the body {"error": {...}}, see [Error].
//
// # Who may do what
//
// The socket has mode 0660, and the credentials of whoever connects decide:
// the daemon's user and root may do everything, members of the socket's group
// may GET, all others get nothing.
//
// # Bounds
//
// Requests (64 KiB), connections, streams and the time for each part of a
// request and of its answer are bounded.
package control
