// Package quick measures the network between two sets of test nodes, pair by pair: what lst quick
// does. It makes a session, has each client send to each server in rounds of pairs that share no
// node, so that no pair is slowed down by another one, and reads the counters of the clients.
// It works with kernel nodes as well as with nodes of ulnet, because both support all the RPCs that
// it uses.
package quick
