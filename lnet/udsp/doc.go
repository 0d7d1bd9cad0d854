// Package udsp has user defined selection policies (UDSP; lnet/udsp.c, lnet-semantics §14):
// an ordered list of rules, each of which gives a priority to NIs or nets, or has messages
// prefer some NIs of a peer, by the local NI that they leave by, or some routers.
//
//	src          priority of this node's NIs, or of its nets
//	dst          priority of other nodes' NIs, or of their nets
//	rte          priority of routers' NIs
//	src and dst  for messages that leave by NIs of src, those NIs of peers are preferred
//	dst and rte  for messages to NIs of dst, those routers are preferred
//
// A pattern is a net (tcp1) or a NID list (10.0.0.[1-9/2]@tcp). The lowest priority value
// is the best; what no rule names comes last. Of several rules with a priority for the same
// NI or net the first counts; the preferences of all rules add up.
//
// A [List] is a value that does not change: Add and Remove return another one. It is what
// lnet.Node.SetRules takes, and answers for any NID without knowing which NIs, peers and
// routes there are: lnet asks it when one comes. Package path says at which position of
// its order of preference rules count; health comes before them.
package udsp
