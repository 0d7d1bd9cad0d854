package rmcast

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

// Expel has the manager on this node take the members on a node for ended. ESRCH: this
// node is none of the group's managers; EREMOTE: another one manages it.
func (m *Module) Expel(r McastExpel) error {
	g, err := m.group(r.Group)
	if err != nil {
		return err
	}
	err = g.m.agent.Expel(rmcast.GroupID(g.cfg.Number), r.NID)
	other, ok := errors.AsType[*rmcast.ErrNotManager](err)
	switch {
	case !ok:
		return err
	case other.Manager.IsValid():
		return cli.Hint(cli.Errnof(syscall.EREMOTE, "group %s is managed by %v", r.Group, other.Manager), "expel %v there", r.NID)
	}
	return cli.Hint(cli.Errnof(syscall.ESRCH, "this node is no manager of group %s", r.Group), "managers are %s: expel %v there", cli.NIDList(g.cfg.Managers), r.NID)
}
