package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
)

// Bounds and default of the interval of --watch.
const (
	usualWatch    = time.Second
	shortestWatch = 50 * time.Millisecond
)

// watched are the verbs that have --watch.
var watched = map[string]bool{"show": true, "list": true}

// addWatch adds the flags --watch and --rounds to all verbs below c that show something.
func addWatch(c *cobra.Command, g *globals) {
	for _, sub := range c.Commands() {
		addWatch(sub, g)
	}
	if !watched[c.Name()] || c.RunE == nil || c.HasSubCommands() || c.Flags().Lookup("watch") != nil {
		return
	}
	w := &watch{globals: g, command: c, show: c.RunE}
	c.Flags().Var(&w.interval, "watch", "show it again every `TIME` (1s) with the changes per second, until an interrupt")
	c.Flags().Lookup("watch").NoOptDefVal = usualWatch.String()
	c.Flags().IntVar(&w.rounds, "rounds", 0, "with --watch: end after `N` rounds")
	c.RunE = w.run
}

// watch has the flags of a verb with --watch, and repeats the verb.
type watch struct {
	globals  *globals
	command  *cobra.Command
	show     func(*cobra.Command, []string) error
	interval watchInterval
	rounds   int // number of rounds; 0: until an interrupt
}

func (w *watch) run(c *cobra.Command, args []string) error {
	if w.rounds < 0 || w.rounds > 0 && w.interval == 0 {
		return cli.Usagef("--rounds: want a number from 1, and --watch")
	}
	if w.interval == 0 {
		return w.show(c, args)
	}
	out := c.OutOrStdout()
	print := cli.Style(out, w.globals.json, printRound, encodeRound, drawRound)
	var rates cli.Rates
	n := 0
	return cli.Repeat(c.Context(), time.Duration(w.interval), func() error {
		text, err := w.look(c, args)
		if err != nil {
			return err
		}
		r := round{at: time.Now(), first: n == 0}
		if r.list, r.more, err = rates.Round(text, r.at); err != nil {
			return err
		}
		if err := print(out, r); err != nil {
			return err
		}
		if n++; n == w.rounds {
			return cli.ErrEnough
		}
		return nil
	})
}

// look returns what the verb prints, as JSON. It leaves out warnings, which are for the verb's
// usual output.
func (w *watch) look(c *cobra.Command, args []string) ([]byte, error) {
	var text bytes.Buffer
	json := w.globals.json
	w.globals.json = true
	c.SetOut(&text)
	c.SetErr(io.Discard)
	defer func() {
		w.globals.json = json
		c.SetOut(nil)
		c.SetErr(nil)
	}()
	err := w.show(c, args)
	return text.Bytes(), err
}

// round is the output of one repetition of the verb.
type round struct {
	at    time.Time
	first bool
	list  []cli.Reading
	more  int // number of values that are left out
}

// printRound prints a round for a pipe or a file.
func printRound(w io.Writer, r round) error {
	fmt.Fprintln(w, "# "+r.at.Format(time.RFC3339Nano))
	return cli.RateTable(r.list, r.more).Print(w)
}

// drawRound draws a round on a terminal, as much of it as fits the rows.
func drawRound(w io.Writer, r round) error {
	var b bytes.Buffer
	if err := printRound(&b, r); err != nil {
		return err
	}
	return cli.Redraw(w, b.Bytes(), r.first)
}

// encodeRound prints a round as a JSON object on one line.
func encodeRound(w io.Writer, r round) error {
	doc := struct {
		Time   time.Time          `json:"time"`
		Values map[string]string  `json:"values"`
		Rates  map[string]float64 `json:"rates"` // change per second of the values that change
		More   int                `json:"more,omitempty"`
	}{r.at, map[string]string{}, map[string]float64{}, r.more}
	for _, one := range r.list {
		doc.Values[one.Path] = one.Value
		if one.Rate != 0 {
			doc.Rates[one.Path] = one.Rate
		}
	}
	return json.NewEncoder(w).Encode(doc)
}

// watchInterval is the value of --watch, such as 500ms, or a number of seconds; 0 if the flag is
// absent.
type watchInterval time.Duration

func (i *watchInterval) String() string { return time.Duration(*i).String() }
func (i *watchInterval) Type() string   { return "TIME" }

func (i *watchInterval) Set(text string) error {
	every, err := parseTime(text)
	if err != nil || every < shortestWatch {
		return fmt.Errorf("want a time from %v, such as 500ms or 2s, or a number of seconds", shortestWatch)
	}
	*i = watchInterval(every)
	return nil
}
