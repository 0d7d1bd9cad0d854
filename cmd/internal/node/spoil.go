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

// AddFault is a fault to inject.
type AddFault struct {
	Statement string `json:"statement"` // text of the fault, see fault.ParseStatement
}

// AddedFault is the answer to AddFault.
type AddedFault struct {
	ID int `json:"id"` // number of the rule; 0: the statement was not a rule
}

// EndFault selects the faults to end, by any of the fields that are set.
type EndFault struct {
	Rule      int  `json:"rule,omitempty"`      // number of the rule to end
	Rules     bool `json:"rules,omitempty"`     // end all rules
	Partition bool `json:"partition,omitempty"` // end the partition
	Pause     bool `json:"pause,omitempty"`     // end the pause
}

// spoiledHint is the hint of a timeout while faults are injected.
const spoiledHint = "messages are spoiled on purpose here: see 'lnetctl fault list'"

// newPlan makes the fault plan of the configuration. It also returns the numbers of its rules, by
// their texts.
func newPlan(c config.Config, clock machine.Clock) (*fault.Plan, map[string][]int, error) {
	seed := uint64(c.FaultSeed)
	if seed == 0 {
		seed = uint64(rand.Int32N(math.MaxInt32)) + 1 // a random number in the range of fault_seed
	}
	p := fault.New(fault.Config{Clock: clock, Seed: seed})
	rules := map[string][]int{}
	for _, text := range c.Faults {
		id := 0
		s, err := fault.ParseStatement(text)
		if err == nil {
			id, err = p.Apply(s)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("faults: %w", err)
		}
		if id != 0 {
			rules[text] = append(rules[text], id)
		}
	}
	return p, rules, nil
}

// AddFault injects a fault from now on. EINVAL: the statement is invalid. ENOSPC: there
// are too many rules.
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

// warnOf logs an injected fault, because an operator would otherwise look for the cause in the
// network.
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

// isSpoiled reports whether faults are injected.
func (n *Node) isSpoiled() bool {
	s := n.plan.Snapshot()
	return s.Active()
}
