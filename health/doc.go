// Package health watches over the clients of a cluster's servers and evicts the dead ones from
// all servers at once (design document "Client Health and Global Eviction", here called the
// design).
//
// A client picks one server at random as its master, and pings only this server. The master
// records when it last heard the client. If that is too long ago, it tells all servers by one
// broadcast to evict the client. When discovery reports a master dead, the other servers mark
// its clients as orphans, which have some time to choose another master.
//
// A server has a ServerAgent, a client a Connection; both are users of package portals like any
// other.
//
//	agent, err := health.StartServer(node.Table(), health.AgentConfig{...})
//	conn, err := health.Dial(node.Table(), health.DialConfig{...})
//	master, err := conn.Wait(ctx)
//
// The program passes in discovery as a View, such as a gossip.Agent, and collectives as a
// Broadcaster, such as that of package health/collective. The records that survive a restart are
// in a Store.
//
// The protocol itself is two state machines, which have no clock and no network, in package
// health/engine, whose documentation lists the differences from the design. Package health/wire
// has the messages.
package health
