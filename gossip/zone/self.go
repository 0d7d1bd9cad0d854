package zone

import (
	"fmt"
	"os"

	"ulnet/lnet/nid"
	"ulnet/portals"
)

// selfOf returns the id of a node whose configuration has none: the host's name, with all NIDs
// of the node.
func selfOf(table *portals.Table) (ID, error) {
	name, err := os.Hostname()
	if err != nil {
		return ID{}, fmt.Errorf("zone: Self is not set, and the host has no name: %w", err)
	}
	var nids []nid.NID
	for _, id := range table.Node().IDs() {
		if !id.NID.IsLo() {
			nids = append(nids, id.NID)
		}
	}
	id, err := NewID(name, nids...)
	if err != nil {
		return ID{}, fmt.Errorf("zone: Self is not set, and the name of the host, %q, with the NIDs %v is no id: %w", name, nids, err)
	}
	return id, nil
}
