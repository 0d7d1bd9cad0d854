package main

import (
	"ulnet/lnet/nid"
)

// maxNodes bounds the number of nodes that one expression names. It is also the limit of a session.
const maxNodes = 1 << 14

// expand returns the nodes that an expression names: a NID in which each pair of brackets has
// numbers and ranges, as in 10.0.[0-1].[2-20/2,30]@tcp. Its errors are lines of Lustre's tool.
func expand(expression string) ([]nid.ProcessID, error) {
	texts, err := nid.ExpandText(expression, maxNodes)
	if err != nil {
		return nil, failf("Invalid nid: %s: %v", expression, err)
	}
	ids := make([]nid.ProcessID, 0, len(texts))
	for _, text := range texts {
		id, err := nid.Parse(text)
		switch {
		case err != nil || id.IsAny() || !id.IsValid():
			return nil, failf("Invalid nid: %s", text)
		case !id.Is4():
			return nil, failf("Invalid nid: %s: the messages of selftest have no form for IPv6 addresses; use a NID of the node with an IPv4 address", text)
		}
		ids = append(ids, nid.ProcessID{NID: id, PID: nid.LustrePID})
	}
	return ids, nil
}

// expandAll returns the nodes that several expressions name.
func expandAll(expressions []string) (all []nid.ProcessID, err error) {
	for _, e := range expressions {
		ids, err := expand(e)
		if err != nil {
			return nil, err
		}
		if len(all)+len(ids) > maxNodes {
			return nil, failf("Invalid nid: %s: more than %d nodes", e, maxNodes)
		}
		all = append(all, ids...)
	}
	return all, nil
}

// perRequest bounds the nodes of one request to the daemon, whose size is bounded.
const perRequest = 512
