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
	Anyway bool `json:"anyway"` // commit although perhaps not all members have staged the list, or most of the new list are not alive
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
// staged it yet, or half of the new list or more is not alive. The other errors are those of Stage.
func (m *Module) Commit(r CommitRequest) error {
	return m.change(func(agent *gossip.Agent) error {
		commit := agent.Commit
		if r.Anyway {
			commit = agent.CommitAnyway
		} else if err := hasMajority(agent.RollStatus()); err != nil {
			return err
		}
		err := m.view.relist(agent, commit)
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

// hasMajority refuses a change, which all that are alive have staged, to a list of which half or more is not alive, if
// most of the old list is. After such a commit no server has a quorum (2·alive > all), and each evicts its clients after
// T_q, although none has failed. Without a majority of the old list there is no quorum to lose: so it is at a node that
// has left, or that others no longer speak to.
func hasMajority(s gossip.RollStatus) error {
	old := 0
	for _, p := range s.Members {
		if !p.Joins && p.Health == gossip.Alive {
			old++
		}
	}
	away := s.NotAlive()
	if !s.Staged || len(s.Missing()) > 0 || 2*old <= s.N || 2*len(away) < s.NewN {
		return nil
	}
	return cli.Hint(cli.Errno(syscall.EBUSY, &gossip.Error{Why: "half of the new list or more is not alive", NIDs: away}),
		"start them with the new list, and wait until 'gossipctl list status' has most as alive: their silence comes first; "+
			"--anyway commits all the same, and servers of client health whose list is that of gossip then evict their clients")
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
