package node

import (
	"errors"
	"io"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/gossip"
	"ulnet/gossip/engine"
)

// GossipCommit commits a change of the list.
type GossipCommit struct {
	Anyway bool `json:"anyway"` // also without knowing that all have staged it
}

// GossipStage makes gossip understand a further list of participants, which is
// to replace the present one. Errors:
//
//	ESRCH   gossip does not run
//	EINVAL  NIDs that cannot be, or a list that cannot follow the present one
func (n *Node) GossipStage(nids io.Reader) error {
	ids, err := config.ParseNIDs("NIDs", nids)
	if err != nil {
		return &gossipError{syscall.EINVAL, err}
	}
	list, err := engine.NewList(ids)
	if err != nil {
		return &gossipError{syscall.EINVAL, err}
	}
	g := &n.gossip
	return g.change(func(agent *gossip.Agent) error {
		err := agent.Stage(ids)
		if err == nil {
			g.mu.Lock()
			g.staged = list
			g.mu.Unlock()
		}
		return err
	})
}

// GossipCommit changes to the list that was staged. EBUSY: some have not staged
// it yet. The other errors are those of GossipStage.
func (n *Node) GossipCommit(r GossipCommit) error {
	g := &n.gossip
	return g.change(func(agent *gossip.Agent) error {
		commit := agent.Commit
		if r.Anyway {
			commit = agent.CommitAnyway
		}
		err := commit()
		if e, ours := errors.AsType[*gossip.Error](err); ours && len(e.NIDs) > 0 {
			return cli.Hint(&gossipError{syscall.EBUSY, e},
				"'gossipctl list stage' there; 'gossipctl list status' shows who has; --anyway leaves them behind")
		}
		if err == nil {
			g.mu.Lock()
			g.setup = newGossipSetup(g.setup.asked, g.staged, g.setup.cfg)
			g.mu.Unlock()
			n.gossipChanged()
		}
		return err
	})
}

// GossipCancel gives up a change that was staged. The errors are those of
// GossipStage.
func (n *Node) GossipCancel() error {
	return n.gossip.change((*gossip.Agent).Cancel)
}

// change changes the list of the agent.
func (g *gossiper) change(do func(*gossip.Agent) error) error {
	g.commands.Lock()
	defer g.commands.Unlock()
	agent, err := g.running()
	if err != nil {
		return err
	}
	err = do(agent)
	if wrong, ours := errors.AsType[*gossip.Error](err); ours && len(wrong.NIDs) == 0 {
		return cli.Hint(&gossipError{syscall.EINVAL, wrong}, "see 'gossipctl list status', and 'gossipctl list --help' for the order of steps")
	}
	return err
}

// GossipListStatus returns how far a change of the list is. ESRCH: gossip does
// not run.
func (n *Node) GossipListStatus() (gossip.RollStatus, error) {
	agent, err := n.gossip.running()
	if err != nil {
		return gossip.RollStatus{}, err
	}
	return agent.RollStatus(), nil
}
