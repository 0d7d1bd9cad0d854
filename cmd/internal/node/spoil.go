package node

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/lnd/fault"
	"ulnet/lnet/machine"
)

// AddFault says what else goes wrong at a running node.
type AddFault struct {
	Statement string `json:"statement"` // see fault.ParseStatement
}

// AddedFault is what AddFault has done.
type AddedFault struct {
	ID int `json:"id"` // of the rule, 0 if it is none
}

// EndFault says what goes wrong no more: any of the following.
type EndFault struct {
	Rule      int  `json:"rule,omitempty"`      // its number
	Rules     bool `json:"rules,omitempty"`     // all of them
	Partition bool `json:"partition,omitempty"` // heals
	Pause     bool `json:"pause,omitempty"`     // resumes
}

// spoiledHint is what to look at when something did not come in time at a
// node with faults.
const spoiledHint = "messages are spoiled on purpose here: see 'lnetctl fault list'"

// newPlan makes the plan of the configuration.
func newPlan(c config.Config, clock machine.Clock) (*fault.Plan, error) {
	seed := uint64(c.FaultSeed)
	if seed == 0 {
		seed = uint64(rand.Int32N(math.MaxInt32)) + 1 // what fault_seed may be
	}
	p := fault.New(fault.Config{Clock: clock, Seed: seed})
	for _, text := range c.Faults {
		s, err := fault.ParseStatement(text)
		if err == nil {
			_, err = p.Apply(s)
		}
		if err != nil {
			return nil, fmt.Errorf("faults: %w", err)
		}
	}
	return p, nil
}

// AddFault spoils messages from now on. EINVAL: the statement is none. ENOSPC:
// there are too many rules.
func (n *Node) AddFault(f AddFault) (AddedFault, error) {
	s, err := fault.ParseStatement(f.Statement)
	if err != nil {
		return AddedFault{}, fmt.Errorf("%w: %w", syscall.EINVAL, err)
	}
	id, err := n.plan.Apply(s)
	if err != nil {
		return AddedFault{}, cli.Hint(err, "'lnetctl fault del' takes some away")
	}
	n.warnOf(s.String())
	return AddedFault{id}, nil
}

// warnOf tells the log of a fault, or somebody searches the network for what we
// do.
func (n *Node) warnOf(fault string) {
	n.cfg.Log.Warn("messages are spoiled on purpose", slog.String("fault", fault))
}

// EndFault ends faults. ENOENT: there is no such rule.
func (n *Node) EndFault(e EndFault) error {
	if e.Rule != 0 {
		if err := n.plan.Remove(e.Rule); err != nil {
			return cli.Hint(err, "'lnetctl fault list' shows the rules and their numbers")
		}
	}
	if e.Rules {
		n.plan.RemoveAll()
	}
	if e.Partition {
		n.plan.Separate(fault.Partition{})
	}
	if e.Pause {
		n.plan.Resume()
	}
	n.cfg.Log.Info("faults ended", slog.Any("which", e))
	return nil
}

// isSpoiled reports whether messages go wrong on purpose.
func (n *Node) isSpoiled() bool {
	s := n.plan.Snapshot()
	return s.Active()
}
