package main

import (
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
)

// multicastDoc is what an NI has of multicast: without -v the groups that were
// joined, if there are any.
type multicastDoc struct {
	Groups []lnet.GroupSnapshot `json:"groups,omitempty"`
	*node.Multicast
}

// newMulticastDoc returns nil if there is nothing to show.
func newMulticastDoc(ni node.NIStatus, level int) *multicastDoc {
	doc := multicastDoc{Groups: ni.Groups}
	switch {
	case level < 1:
	case ni.Socklnd != nil:
		doc.Multicast = ni.Socklnd.Multicast
	case ni.O2iblnd != nil:
		doc.Multicast = ni.O2iblnd.Multicast
	}
	if doc.Groups == nil && doc.Multicast == nil {
		return nil
	}
	return &doc
}
