package portals

import (
	"syscall"

	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// ID returns the node's process id on its NI with this index, in the order of
// configuration (LNetGetId). ENOENT: there are fewer NIs.
func (t *Table) ID(index int) (nid.ProcessID, error) {
	ids := t.node.IDs()
	if index < 0 || index >= len(ids) {
		return nid.ProcessID{}, opError("ID", syscall.ENOENT)
	}
	return ids[index], nil
}

// Distance says how far away a NID is and from which NID of this node it is reached
// (LNetDist). EHOSTUNREACH: it is not reached.
func (t *Table) Distance(dst nid.NID) (lnet.Distance, error) {
	d, err := t.node.Dist(dst)
	if err != nil {
		return d, &OpError{Op: "Distance", NID: dst, Err: err}
	}
	return d, nil
}

// SelfOf returns the NID under which a program takes part in a protocol: self if that is a NID of this node, or the
// only NID of this node if self is the zero value. 0@lo does not count. It reports false if self is no NID of this
// node, or is zero and the node has no NID or several.
func (t *Table) SelfOf(self nid.NID) (id nid.NID, ok bool) {
	for _, own := range t.node.IDs() {
		switch {
		case own.NID.IsLo() || self.IsValid() && own.NID != self:
		case id.IsValid() && !self.IsValid():
			return nid.NID{}, false
		default:
			id = own.NID
		}
	}
	return id, id.IsValid()
}
