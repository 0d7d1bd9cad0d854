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
