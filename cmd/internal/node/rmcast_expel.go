package node

import (
	"errors"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast"
)

// McastExpel says which node's members of a group have ended.
type McastExpel struct {
	Group string  `json:"group"`
	NID   nid.NID `json:"nid"`
}

// McastExpel has the manager on this node take the members on a node for ended. ESRCH: this
// node is none of the group's managers; EREMOTE: another one manages it.
func (n *Node) McastExpel(r McastExpel) error {
	g, err := n.mcastGroup(r.Group)
	if err != nil {
		return err
	}
	err = g.m.agent.Expel(rmcast.GroupID(g.cfg.Number), r.NID)
	other, ok := errors.AsType[*rmcast.ErrNotManager](err)
	switch {
	case !ok:
		return err
	case other.Manager.IsValid():
		return cli.Hint(mcastFailure(syscall.EREMOTE, "group %s is managed by %v", r.Group, other.Manager), "expel %v there", r.NID)
	}
	return cli.Hint(mcastFailure(syscall.ESRCH, "this node is no manager of group %s", r.Group), "managers are %s: expel %v there", nidList(g.cfg.Managers), r.NID)
}
