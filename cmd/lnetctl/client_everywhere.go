package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/health"
)

// listEverywhere prints the clients of all servers. It fails if servers did not answer, and names
// them.
func (g *globals) listEverywhere(ctx context.Context, out, talk io.Writer, f health.EverywhereFilter) error {
	list, err := health.OpEverywhere.Call(ctx, g.client(), f)
	if err != nil {
		return err
	}
	if list.More {
		fmt.Fprintf(talk, "the first %d clients; --limit has more of them listed\n", len(list.Clients))
	}
	if err := cli.Show(out, g.json, &list, printEverywhere); err != nil || len(list.Unreached) == 0 {
		return err
	}
	text := ""
	for _, u := range list.Unreached {
		text += fmt.Sprintf("\n  %v: %s", u.NID, u.Error)
	}
	return cli.Hint(fmt.Errorf("%d of %d servers did not answer:%s", len(list.Unreached), len(list.Servers)+len(list.Unreached), text),
		"'lnetctl server list' shows who is dead, 'scollctl ping' who answers")
}

// printEverywhere prints a line for each view of a client.
func printEverywhere(w io.Writer, list *health.EverywhereList) error {
	var table cli.Table
	table.Row("CLIENT", "NAME", "STATE", "MASTER", "EPOCH", "LIFE", "PEER", "SERVERS")
	for i := range list.Clients {
		c := &list.Clients[i]
		for k := range c.Views {
			v := &c.Views[k]
			servers := nidText(v.Servers)
			if len(v.Servers) == len(list.Servers) {
				servers = fmt.Sprintf("all %d", len(list.Servers))
			}
			if c.Differ {
				servers += " (differs)"
			}
			table.Row(c.Client, cmp.Or(c.Name, "-"), v.State, textOr(v.Master.IsValid(), v.Master), v.Epoch, v.Incarnation, v.Peer, servers)
		}
	}
	err := table.Print(w)
	if list.Differ > 0 {
		fmt.Fprintf(w, "servers disagree about %d of %d clients; it is of no account for some seconds after a choice of a master\n", list.Differ, len(list.Clients))
	}
	return err
}
