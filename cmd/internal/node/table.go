package node

import "ulnet/portals"

// Table returns the node's portal table, for what the operations above do not
// cover. Portal 0 is discovery's; what else is attached is the caller's to
// unlink.
func (n *Node) Table() *portals.Table { return n.table }
