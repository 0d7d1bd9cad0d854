package main

import (
	"fmt"
	"os"
	"text/tabwriter"
	"time"
)

// table prints results for people.
func (o *options) table(results []result) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "system\tjoin\tnewcomer\tattribute\tgoodbye\tdeath\tsilence\tB/node/s\tmsgs/node/s\tCPU/node\tfalse deaths\tof nodes\tresurrections")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%.1f s\t%v\t%v\t%v\t%v\t%v\t%.0f\t%.1f\t%.2f %%\t%d\t%d\t%d\n",
			r.System, r.Join.Seconds(), r.Newcomer, r.Attribute, r.Goodbye, r.Death, r.Silence, r.Bytes, r.Packets, r.CPU,
			r.FalseDeaths, r.Victims, r.Resurrection)
	}
	_ = w.Flush() // to a standard output that is gone
	fmt.Printf("%d nodes, a process each; interval %v (zone, memberlist-lan: their defaults); until others knew, on average and the last;\n"+
		"payload bytes, without headers of TCP, UDP and LNet; a death is a kill -9, silence a SIGSTOP;\n"+
		"false deaths while %d nodes were stopped %d times for %v.\n", o.nodes, o.interval, o.paused, o.pauses, blocked)
}

// String returns both figures.
func (s spread) String() string {
	if s.Last == 0 {
		return "-"
	}
	return fmt.Sprintf("%v, %v", s.Mean.Round(time.Millisecond), s.Last.Round(time.Millisecond))
}
