// Package udsp has user defined selection policies (UDSP; lnet/udsp.c, lnet-semantics §14):
// an ordered list of rules. A rule gives a priority to NIs or nets, or it makes messages
// prefer some NIs of a peer, depending on the local NI by which they leave, or some routers.
//
//	src          priority of this node's NIs, or of its nets
//	dst          priority of other nodes' NIs, or of their nets
//	rte          priority of routers' NIs
//	src and dst  for messages that leave by NIs of src, the NIs of peers in dst are preferred
//	dst and rte  for messages to NIs of dst, the routers of rte are preferred
//
// A pattern is a net (tcp1) or a NID list (10.0.0.[1-9/2]@tcp). The lowest priority value is
// the best; NIs and nets that no rule names come last. If several rules give a priority to
// the same NI or net, the first one counts; the preferences of all rules add up.
//
// A [List] is a value that does not change: Add and Remove return another one.
// lnet.Node.SetRules takes a List. It answers for any NID without knowing which NIs, peers
// and routes there are, and lnet asks it whenever one of these is added. Package path says at
// which position of its order of preference rules count; health comes before them.
package udsp
