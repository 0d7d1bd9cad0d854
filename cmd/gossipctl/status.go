package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	gossipmod "ulnet/cmd/internal/modules/gossip"
	"ulnet/gossip"
	"ulnet/lnet/nid"
)

// unheard is the age of a participant from which no sign was ever received.
const unheard = 255

func statusCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show who is alive",
		Long: `Shows the participants as this node sees them: how many cycles ago each was last
heard of by whatever way (- for never), whether it is held for alive, and how
often it has died as far as this node knows. Unknown is who was never heard of;
he does not count as alive.`,
		Example: `  gossipctl status
  gossipctl status --json | jq '.participants[] | select(.health == "dead").nid'`,
		Args: cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			doc, err := g.status(c.Context())
			if err != nil {
				return err
			}
			doc.warn(c.ErrOrStderr())
			return cli.Show(c.OutOrStdout(), g.json, doc, printStatus)
		},
	}
}

// statusDoc is the JSON output of status.
type statusDoc struct {
	Clock        uint64               `json:"clock"`
	N            int                  `json:"n"`
	Threshold    int                  `json:"threshold"` // age in cycles above which a participant is dead
	Quorum       bool                 `json:"quorum"`
	Alive        int                  `json:"alive"`
	Participants []gossip.Participant `json:"participants"`
	Self         nid.NID              `json:"self"`
	Cycle        uint64               `json:"cycle"`
	State        gossipmod.State      `json:"state"`
	Left         bool                 `json:"left,omitempty"`       // the node has left: a list without it was committed there
	NotSigned    uint64               `json:"not_signed,omitempty"` // messages that are not signed with the node's keys
	Keys         int                  `json:"keys,omitempty"`
}

// status asks the daemon for the status of gossip. If gossip does not run the result is an
// error.
func (g *globals) status(ctx context.Context) (statusDoc, error) {
	s, err := gossipmod.OpStatus.Call(ctx, g.client(), control.None{})
	if err != nil {
		return statusDoc{}, err
	}
	if s.Snapshot == nil {
		hint := "'gossipctl start' starts it"
		if s.State == gossipmod.Unconfigured {
			hint = "'gossipctl init' sets its participants, and 'gossipctl start' starts it"
		}
		return statusDoc{}, cli.Hint(errors.New("gossip does not run"), "%s", hint)
	}
	p := s.Snapshot
	return statusDoc{p.Clock, p.N, p.Threshold, p.Quorum, p.Alive, p.Participants, p.Self, p.Cycle, s.State, p.Left, p.Stats.NotSigned, p.Keys}, nil
}

// warn prints a warning about whatever keeps other nodes from seeing this one.
func (d *statusDoc) warn(w io.Writer) {
	switch {
	case d.Left:
		fmt.Fprintln(w, "this node has left, a list without it was committed here: 'gossipctl init' with a list that names it, as on all others, and 'gossipctl start' bring it back")
	case d.State == gossipmod.Excluded:
		fmt.Fprintln(w, "this node takes part no more: see 'gossipctl history' for why; after mending that, 'gossipctl start'")
	case d.State == gossipmod.Listening:
		fmt.Fprintln(w, "this node is silent after its start, until all others have noticed that it was gone")
	}
	switch {
	case d.NotSigned > 0 && d.Keys > 0:
		fmt.Fprintf(w, "messages came that are not signed with a key of this node (%d): 'gossipctl history' names their senders; compare key_file there and here\n", d.NotSigned)
	case d.NotSigned > 0:
		fmt.Fprintf(w, "signed messages came, and this node has no key (%d): set key_file in the section gossip to that of the others\n", d.NotSigned)
	}
}

// summary returns a line with the most important facts.
func (d *statusDoc) summary() string {
	quorum := "no quorum"
	if d.Quorum {
		quorum = "quorum"
	}
	return fmt.Sprintf("clock %d: %d of %d alive, %s; dead is who is not heard of for more than %d cycles", d.Clock, d.Alive, d.N, quorum, d.Threshold)
}

func printStatus(w io.Writer, d statusDoc) error {
	fmt.Fprintln(w, d.summary())
	var table cli.Table
	table.Row("NID", "AGE", "HEALTH", "ALIVENESS")
	for _, p := range d.Participants {
		age := "-"
		if p.Age != unheard {
			age = fmt.Sprint(p.Age)
		}
		cells := []any{p.NID, age, p.Health, p.Aliveness}
		if p.NID == d.Self {
			cells = append(cells, "(this node)")
		}
		table.Row(cells...)
	}
	return table.Print(w)
}

// withoutPrefix returns an error of package gossip without the package's name.
func withoutPrefix(err error) error {
	return errors.New(strings.TrimPrefix(err.Error(), "gossip: "))
}
