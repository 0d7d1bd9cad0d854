// Package gossip discovers which servers of a cluster are alive, without a master and with the
// same small load on each (design document "Reduction Network Discovery", here called the
// design).
//
// In every gossip cycle a participant draws another one at random and sends it the ages of all
// participants, as far as it knows them. The receiver answers with those of its own ages that are newer. An
// age is the number of cycles since a participant was last heard of, directly or through others. News reaches
// all participants in about log2 N cycles, and a participant that has not been heard of for longer than a
// limit is dead.
//
// [Agent] lets an LNet node take part: it is a user of package portals like any other.
//
//	agent, err := gossip.New(node.Table(), gossip.Config{Participants: servers, Interval: time.Second})
//	stop := agent.Watch(func(id nid.NID, alive bool, died uint64) { ... })
//	alive, died := agent.Alive(id)
//	err = agent.Close(ctx)
//
// An agent needs some bytes of memory per participant, and no message makes it grow. With Keys
// it signs its messages, and drops messages that are not signed.
//
// The protocol itself is a machine that knows no clock and no network, in package
// gossip/engine, which says where it is not the letter of the design. What is sent is in
// package gossip/wire.
package gossip
