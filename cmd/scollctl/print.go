package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/scoll"
	"ulnet/lnet/nid"
)

// shownNIDs bounds how many NIDs are listed for members with the same answer.
const shownNIDs = 8

// printReply prints the result of a broadcast: a summary, the answers, for which it calls show,
// and all members that were not reached.
func printReply(w io.Writer, r *scoll.BroadcastReply, show func(io.Writer, *scoll.BroadcastReply) error) error {
	if r.Status != scoll.BroadcastUnsent {
		fmt.Fprintln(w, summary(r))
		if err := show(w, r); err != nil {
			return err
		}
	}
	if len(r.Unreached) == 0 {
		return nil
	}
	var table cli.Table
	for _, u := range r.Unreached {
		table.Row("  "+u.NID.String(), u.Error)
	}
	fmt.Fprintln(w, "not reached:")
	return table.Print(w)
}

func summary(r *scoll.BroadcastReply) string {
	text := fmt.Sprintf("%d of %d members answered in %v", len(r.Reached), len(r.Reached)+len(r.Unreached), ofMicros(r.ElapsedUS))
	if n := len(r.Skipped); n > 0 {
		text += fmt.Sprintf("; %d dead left out", n)
	}
	return text
}

// ofMicros returns a time, rounded to about three digits.
func ofMicros(us int64) time.Duration { return rounded(time.Duration(us) * time.Microsecond) }

func rounded(d time.Duration) time.Duration {
	unit := time.Nanosecond
	for unit*1000 < max(d, -d) {
		unit *= 10
	}
	return d.Round(unit)
}

// noAnswers prints nothing. It is for verbs whose answers have no content.
func noAnswers(io.Writer, *scoll.BroadcastReply) error { return nil }

// same is a set of members that have given the same answer.
type same struct {
	text, more string // the answer, and text to show below it
	bad        bool
	nids       []nid.NID
}

// gather groups members with the same answer, the most frequent answer first.
func gather(r *scoll.BroadcastReply, says func(*scoll.Answer) (text, more string)) (list []*same) {
	type key struct{ text, more string }
	byText := map[key]*same{}
	for i := range r.Answers {
		a := &r.Answers[i]
		var k key
		if k.text = a.Error; k.text == "" {
			k.text, k.more = says(a)
		}
		if byText[k] == nil {
			byText[k] = &same{text: k.text, more: k.more, bad: failure(a)}
			list = append(list, byText[k])
		}
		byText[k].nids = append(byText[k].nids, a.NID)
	}
	slices.SortStableFunc(list, func(a, b *same) int { return cmp.Compare(len(b.nids), len(a.nids)) })
	return list
}

// printSame prints answers with their members. It lists all members that failed.
func printSame(w io.Writer, list []*same) error {
	var b strings.Builder
	for _, s := range list {
		shown := s.nids
		if !s.bad {
			shown = shown[:min(len(shown), shownNIDs)]
		}
		fmt.Fprintf(&b, "  %s: %s", s.text, cli.Count(len(s.nids), "member:", "members:"))
		for _, id := range shown {
			fmt.Fprintf(&b, " %v", id)
		}
		if more := len(s.nids) - len(shown); more > 0 {
			fmt.Fprintf(&b, " and %d more", more)
		}
		b.WriteByte('\n')
		for line := range strings.Lines(s.more) {
			fmt.Fprintf(&b, "      %s\n", printable(strings.TrimSuffix(line, "\n")))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printable returns a line of another program's output without control characters, so that it
// is safe for a terminal.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f || 0x80 <= r && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, line)
}
