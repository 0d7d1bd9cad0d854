// Package tree is the configuration of an LNet node as one tree of types, with one reader and
// one writer. "lnetctl export" and the show verbs write it; "lnetctl import" reads it, and
// /etc/lnet.conf has its form. Keys, their order and their indentation are those of Lustre's
// lnetctl.
//
//	net      networks and their local NIs, with tunables and statistics
//	route    routes to other networks
//	peer     peers and their NIDs
//	routing  whether the node is a router, and the state of its buffers
//	buffers  how many router buffers there are
//	global   settings of the node
//	udsp     user defined selection policies
//
// [Read] is lenient where Lustre's tool is: it ignores unknown keys inside of net, route and peer.
// [ReadSection] refuses them.
// The texts of errors in a file are those of Lustre's tool; see [Error].
//
// Counters and states are part of the tree because an export contains them; import ignores them.
// [Tree.Backup] removes them.
package tree
