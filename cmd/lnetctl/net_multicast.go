package main

import (
	"ulnet/cmd/internal/drivers"
	"ulnet/lnet"
)

// multicastDoc is what an NI has of multicast: without -v the groups that were
// joined, if there are any.
type multicastDoc struct {
	Groups []lnet.GroupSnapshot `json:"groups,omitempty"`
	*drivers.Multicast
}

// newMulticastDoc returns nil if there is nothing to show.
func newMulticastDoc(groups []lnet.GroupSnapshot, has *drivers.Multicast, level int) *multicastDoc {
	if level < 1 {
		has = nil
	}
	if groups == nil && has == nil {
		return nil
	}
	return &multicastDoc{groups, has}
}
