package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/rmcast"
	"ulnet/lnet/nid"
)

func mcastCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "mcast",
		Short: "Send to all members of a multicast group, and know who has it",
		Long: `Sends and receives by reliable multicast: a message goes to all members of a group at
once, by multicast, which may lose it; acknowledgements climb a binomial tree, and a
send is over when every live member has the message. The section rmcast of lnetd's
configuration names the groups.`,
		Example: `  scollctl mcast recv news
  scollctl mcast send news 'hello, all'
  scollctl mcast status`,
	}
	c.AddCommand(mcastSendCommand(g), mcastRecvCommand(g), mcastStatusCommand(g), mcastGroupsCommand(g), mcastBenchCommand(g),
		mcastJoinCommand(g), mcastLeaveCommand(g), mcastExpelCommand(g), mcastFaultCommand(g))
	return c
}

// addReady adds the flag that says how long to wait until this node is a member.
func addReady(c *cobra.Command) func() (ms int64, err error) {
	t := c.Flags().Duration("timeout", 10*time.Second, "`TIME` to wait until this node is a member")
	return func() (int64, error) {
		if *t < time.Millisecond {
			return 0, cli.Usagef("--timeout: want a time from 1ms, not %v", *t)
		}
		return t.Milliseconds(), nil
	}
}

func mcastJoinCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "join GROUP",
		Short: "Join a group",
		Long: `Joins a group, and waits until this node is a member. It gets what others send from
the moment on at which they know so: that may be a little later.`,
		Example: "  scollctl mcast join news",
		Args:    cli.Args("a group"),
	}
	timeout := addReady(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		ms, err := timeout()
		if err != nil {
			return err
		}
		return rmcast.OpJoin.Call(c.Context(), g.client(), rmcast.JoinRequest{Group: args[0], TimeoutMS: ms})
	}
	return c
}

func mcastLeaveCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "leave GROUP",
		Short: "Leave a group",
		Long: `Leaves a group, when what this node has sent is with all, and it has done its part
for what others have under way.`,
		Example: "  scollctl mcast leave news",
		Args:    cli.Args("a group"),
	}
	timeout := c.Flags().Duration("timeout", 20*time.Second, "`TIME` to wait; the group is left then all the same")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *timeout < time.Millisecond {
			return cli.Usagef("--timeout: want a time from 1ms, not %v", *timeout)
		}
		return rmcast.OpLeave.Call(c.Context(), g.client(), rmcast.JoinRequest{Group: args[0], TimeoutMS: timeout.Milliseconds()})
	}
	return c
}

func mcastExpelCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "expel GROUP NID",
		Short: "Say that a member is gone for good",
		Long: `Says that the members of a group on a node have ended, where neither gossip nor a
restart tells: messages do not wait for them any more, and they do not count when a
manager is elected. Ask the node that manages the group; while none does, each of its
managers. A node that lives joins again as another member, and what waited for it is a
success without it: be sure.`,
		Example: "  scollctl mcast expel news 10.0.0.9@tcp",
		Args:    cli.Args("a group", "a NID"),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := nid.Parse(args[1])
			if err != nil {
				return cli.Usagef("%v", err)
			}
			return rmcast.OpExpel.Call(c.Context(), g.client(), rmcast.ExpelRequest{Group: args[0], NID: id})
		},
	}
}

func mcastFaultCommand(g *globals) *cobra.Command {
	f := rmcast.Faults{}
	c := &cobra.Command{
		Use:   "fault GROUP [--acks SHARE] [--datagrams SHARE]",
		Short: "Discard some of what arrives, on purpose",
		Long: `Has this node discard a share of the acknowledgements, and other messages between
members, and of the datagrams that arrive for a group (RM-24), above the network, from
now on: without a flag none. 'scollctl mcast status' shows the shares, and counts.`,
		Example: `  scollctl mcast fault news --acks 0.1 --datagrams 0.05
  scollctl mcast fault news`,
		Args: cli.Args("a group"),
		RunE: func(c *cobra.Command, args []string) error {
			for name, share := range map[string]float64{"acks": f.Acks, "datagrams": f.Datagrams} { // any order: each value is checked by itself
				if !(share >= 0 && share <= 1) {
					return cli.Usagef("--%s: want a share from 0 to 1, such as 0.05, not %v", name, share)
				}
			}
			f.Group = args[0]
			return rmcast.OpFaults.Call(c.Context(), g.client(), f)
		},
	}
	c.Flags().Float64Var(&f.Acks, "acks", 0, "`SHARE` of control messages, from 0 to 1")
	c.Flags().Float64Var(&f.Datagrams, "datagrams", 0, "`SHARE` of datagrams that come by multicast, from 0 to 1")
	return c
}

func mcastGroupsCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:     "groups",
		Short:   "List the multicast groups of lnetd's configuration",
		Long:    "Lists the multicast groups that lnetd's configuration names, and who is in them.",
		Example: "  scollctl mcast groups --json | jq '.[].members[].nid'",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := rmcast.OpStatus.Call(c.Context(), g.client(), control.None{})
			if err != nil {
				return err
			}
			if g.json {
				return cli.JSON(c.OutOrStdout(), mcastGroupDocs(&s))
			}
			var t cli.Table
			t.Row("NAME", "NUMBER", "STATE", "MEMBERS", "MANAGER", "VERSION", "BY")
			for i := range s.Groups {
				t.Row(mcastGroupRow(&s.Groups[i])...)
			}
			return t.Print(c.OutOrStdout())
		},
	}
}

func mcastGroupRow(of *rmcast.GroupStatus) []any {
	manager, members, by, version := "-", "-", "-", "-"
	if of.Manager.IsValid() {
		manager = of.Manager.String()
	}
	if len(of.Members) > 0 {
		members, version = fmt.Sprint(len(of.Members)), of.Version
		if by = "tree"; of.Multicast {
			by = "multicast"
		}
	}
	return []any{of.Name, of.Number, of.State, members, manager, version, by}
}

// mcastGroupDoc is the JSON output of groups for one group.
type mcastGroupDoc struct {
	Name     string          `json:"name"`
	Number   int             `json:"number"`
	State    string          `json:"state"`
	Manager  string          `json:"manager"` // NID of the manager; "": none was heard
	Managers []string        `json:"managers"`
	Version  string          `json:"version"`
	Members  []rmcast.Member `json:"members"`
}

func mcastGroupDocs(s *rmcast.Status) []mcastGroupDoc {
	list := []mcastGroupDoc{}
	for i := range s.Groups {
		of := &s.Groups[i]
		d := mcastGroupDoc{Name: of.Name, Number: of.Number, State: of.State, Version: of.Version, Members: of.Members}
		if of.Manager.IsValid() {
			d.Manager = of.Manager.String()
		}
		for _, id := range of.Managers {
			d.Managers = append(d.Managers, id.String())
		}
		list = append(list, d)
	}
	return list
}
