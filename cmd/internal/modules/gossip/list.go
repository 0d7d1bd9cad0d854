package gossip

import (
	"errors"
	"io"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/gossip"
	"ulnet/gossip/engine"
)

// CommitRequest asks to commit a staged change of the list of participants.
type CommitRequest struct {
	Anyway bool `json:"anyway"` // commit although perhaps not all members have staged the list
}

// Stage makes gossip accept messages for a second list of participants, which will replace the
// present one. Errors:
//
//	ESRCH   gossip does not run
//	EINVAL  impossible NIDs, or a list that cannot follow the present one
func (m *Module) Stage(nids io.Reader) error {
	ids, err := config.ParseNIDs("NIDs", nids)
	if err != nil {
		return cli.Errno(syscall.EINVAL, err)
	}
	list, err := engine.NewList(ids)
	if err != nil {
		return cli.Errno(syscall.EINVAL, err)
	}
	return m.change(func(agent *gossip.Agent) error {
		err := agent.Stage(ids)
		if err == nil {
			m.mu.Lock()
			m.staged = list
			m.mu.Unlock()
		}
		return err
	})
}

// Commit replaces the list of participants by the staged one. EBUSY: some participants have not
// staged it yet. The other errors are those of Stage.
func (m *Module) Commit(r CommitRequest) error {
	return m.change(func(agent *gossip.Agent) error {
		commit := agent.Commit
		if r.Anyway {
			commit = agent.CommitAnyway
		}
		err := commit()
		if e, ours := errors.AsType[*gossip.Error](err); ours && len(e.NIDs) > 0 {
			return cli.Hint(cli.Errno(syscall.EBUSY, e),
				"'gossipctl list stage' there; 'gossipctl list status' shows who has; --anyway leaves them behind")
		}
		if err == nil {
			m.mu.Lock()
			m.setup = newSettings(m.setup.asked, m.staged, m.setup.cfg)
			m.mu.Unlock()
			m.tellChange()
		}
		return err
	})
}

// Cancel gives up a change that was staged. The errors are those of
// Stage.
func (m *Module) Cancel() error {
	return m.change((*gossip.Agent).Cancel)
}

// change calls a function that changes the list of the running agent.
func (m *Module) change(do func(*gossip.Agent) error) error {
	m.commands.Lock()
	defer m.commands.Unlock()
	agent, err := m.running()
	if err != nil {
		return err
	}
	err = do(agent)
	if wrong, ours := errors.AsType[*gossip.Error](err); ours && len(wrong.NIDs) == 0 {
		return cli.Hint(cli.Errno(syscall.EINVAL, wrong), "see 'gossipctl list status', and 'gossipctl list --help' for the order of steps")
	}
	return err
}

// ListStatus returns the progress of a change of the list. ESRCH: gossip does not run.
func (m *Module) ListStatus() (gossip.RollStatus, error) {
	agent, err := m.running()
	if err != nil {
		return gossip.RollStatus{}, err
	}
	return agent.RollStatus(), nil
}
