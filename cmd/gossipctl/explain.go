package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	gossipmod "ulnet/cmd/internal/modules/gossip"
	"ulnet/gossip"
	"ulnet/gossip/engine"
	"ulnet/lnet/nid"
)

func explainCommand(g *globals) *cobra.Command {
	return cli.Question[gossip.Explanation]{
		Use: "explain NID", Short: "Explain why a participant is held for alive or dead",
		Long: `Explains why this node holds a participant for alive or dead: when it was last
heard of, through whom, and the limit.`,
		Example: "  gossipctl explain 10.0.0.7@tcp",
		Args:    cli.Args("a NID"),
		Ask: func(ctx context.Context, args []string) (e gossip.Explanation, err error) {
			id, err := nid.Parse(args[0])
			if err != nil {
				return e, cli.Usagef("%w", err)
			}
			return gossipmod.OpExplain.Call(ctx, g.client(), gossipmod.Participant{NID: id})
		},
		Print: explain,
	}.Command(&g.json)
}

// explain prints an explanation as sentences.
func explain(w io.Writer, e gossip.Explanation) error {
	say := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	cycles := func(n int) string {
		return fmt.Sprintf("%s (%v)", cli.Count(n, "cycle", "cycles"), time.Duration(n)*time.Duration(e.Interval)*time.Millisecond)
	}
	switch {
	case e.Self:
		say("%v is this node, and alive.", e.NID)
	case e.Age == unheard && e.Aliveness == 0:
		say("%v is %v: nothing was ever heard of it, from anybody.", e.NID, e.Health)
	case e.Age == unheard:
		say("%v is %v: nothing was heard of it since this node stood still, or since it is in the list again.", e.NID, e.Health)
	default:
		say("%v is %v: it gave its last sign of life about %s ago; dead is who gave none for more than %s.", e.NID, e.Health, cycles(int(e.Age)), cycles(e.Threshold))
	}
	if e.Heard && e.Via == e.NID {
		say("The last news came from itself, %s ago, at clock %d.", cycles(int(e.Ago)), e.Clock)
	} else if e.Heard {
		say("The last news came through %v, %s ago, at clock %d, and was %s old then.", e.Via, cycles(int(e.Ago)), e.Clock, cli.Count(int(e.AgeThen), "cycle", "cycles"))
	}
	if e.Aliveness > 0 {
		say("It has died %s as far as this node knows.", cli.Count(int(e.Aliveness), "time", "times"))
	}
	switch e.Refused {
	case engine.RefusedCode:
		say("Its messages are dropped: they are not signed as this node's are. Compare key_file in the section gossip there and here.")
	case engine.RefusedAhead:
		say("Its messages are dropped: its clock %d is far ahead of ours, %d. Ours follows if others say the same; if they do not, the clock there is wrong.", e.RefusedClock, e.OwnClock)
	case engine.RefusedOld:
		say("Its messages are dropped: its clock %d is far behind ours, %d. They were delayed, or it is about to take our clock.", e.RefusedClock, e.OwnClock)
	}
	if e.Resync {
		say("This node stood still and is collecting news: it reports what it knew before, until it has enough.")
	}
	if e.Silent {
		say("This node is silent after its start: others do not hear of it yet.")
	}
	if e.Health == gossip.Dead {
		say("If it runs, compare 'gossipctl status' and 'gossipctl params' there, and try 'lnetctl ping %v'.", e.NID)
	}
	return nil
}
