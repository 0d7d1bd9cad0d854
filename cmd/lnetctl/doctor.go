package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/doctor"
)

// Exit codes of doctor.
const (
	exitFailed = 1 // something does not work
	exitWarned = 3 // all works, but something should be looked at
)

const doctorExitStatus = `0 All is well, as far as it could be seen.
1 Something does not work: findings with fail say what.
2 The command line is not valid.
3 All works, but findings with warn should be looked at.`

// doctorVerb is the verb doctor with its flags.
type doctorVerb struct {
	globals *globals
	opts    doctor.Options
	checks  bool
}

func doctorCommand(g *globals) *cobra.Command {
	v := &doctorVerb{globals: g}
	c := &cobra.Command{
		Use:   "doctor [NID...]",
		Short: "Look at what usually is wrong, and say what to do",
		Long: `Looks at the node, its host and its network, and says what was seen, whether that is right
(ok, warn, fail, or unknown where it cannot be found out), and what to do next. It changes nothing.
It sends pings of LNet and of ICMP to the peers of the node, 32 at most, or to the NIDs that are named, and
requests of ARP for the node's own addresses. As root it sees more: firewall, ARP, ICMP.

A node that takes part in collectives also compares its configuration and clock with the members
of a group. Without a daemon that answers it looks at the host: port, firewall, clock,
links and addresses, and the MTU to named NIDs. It ends after --limit, whatever does not answer.

The exit code is 0 if all is well or unknown, 3 if there are only warnings, 1 if
something does not work.`,
		Example: `  lnetctl doctor
  lnetctl doctor --json 10.0.0.2@tcp
  lnetctl doctor --checks`,
		Annotations: map[string]string{cli.ExitStatus: doctorExitStatus},
		RunE:        v.run,
	}
	f := c.Flags()
	f.StringVar(&v.opts.Group, "group", "", "compare this node with the members of `GROUP`, as scollctl names it (default all)")
	f.Uint16Var(&v.opts.AcceptPort, "port", 988, "TCP `PORT` of the acceptor, if lnetd does not run")
	f.DurationVar(&v.opts.Timeout, "timeout", time.Second, "how long to wait for each answer of a peer")
	f.DurationVar(&v.opts.Limit, "limit", 30*time.Second, "how long to take for all checks")
	f.BoolVar(&v.checks, "checks", false, "only list the checks")
	return c
}

func (v *doctorVerb) run(c *cobra.Command, args []string) error {
	if v.checks {
		return v.list(c.OutOrStdout())
	}
	if v.opts.Timeout <= 0 || v.opts.Limit <= 0 {
		return cli.Usagef("--timeout, --limit: want times such as 1s, not %v and %v", v.opts.Timeout, v.opts.Limit)
	}
	targets, err := parseTargets("doctor", args)
	if err != nil {
		return err
	}
	for _, t := range targets {
		v.opts.Peers = append(v.opts.Peers, t.NID)
	}
	found, err := doctor.Run(c.Context(), doctor.System{}, doctor.Daemon(v.globals.client()), v.opts)
	if c.Context().Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return err
	}
	return v.show(c.OutOrStdout(), found)
}

// list prints the checks that doctor makes.
func (v *doctorVerb) list(w io.Writer) error {
	if v.globals.json {
		return cli.JSON(w, doctor.Checks())
	}
	var t cli.Table
	for _, c := range doctor.Checks() {
		t.Row(c.ID, c.Doc)
	}
	return t.Print(w)
}

// diagnosis is the JSON of doctor.
type diagnosis struct {
	Outcome  doctor.Outcome   `json:"outcome"` // the gravest outcome of all findings
	Findings []doctor.Finding `json:"findings"`
}

// show prints the findings. The error says with which code the command ends.
func (v *doctorVerb) show(w io.Writer, found []doctor.Finding) error {
	d := diagnosis{doctor.Worst(found), found}
	err := cli.Show(w, v.globals.json, d, printDiagnosis)
	switch {
	case err != nil:
		return err
	case d.Outcome == doctor.Fail:
		return &kernelError{exit: exitFailed}
	case d.Outcome == doctor.Warn:
		return &kernelError{exit: exitWarned}
	}
	return nil
}

// printDiagnosis prints a line for each finding, with what to do below it.
func printDiagnosis(w io.Writer, d diagnosis) error {
	count := map[doctor.Outcome]int{}
	for _, f := range d.Findings {
		count[f.Outcome]++
		fmt.Fprintf(w, "%-7s  %-13s  ", f.Outcome, f.Check)
		if f.Subject != "" {
			fmt.Fprintf(w, "%s: ", f.Subject)
		}
		fmt.Fprintln(w, f.Seen)
		if f.Next != "" {
			fmt.Fprintf(w, "%24s→ %s\n", "", f.Next)
		}
	}
	fmt.Fprintf(w, "%d ok, %d warn, %d fail, %d unknown\n", count[doctor.OK], count[doctor.Warn], count[doctor.Fail], count[doctor.Unknown])
	return nil
}
