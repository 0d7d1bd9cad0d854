package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
)

// totals are what the clients of a batch have done since its start.
type totals struct {
	RPCs       uint64 `json:"rpcs"`        // number of requests that the clients have sent
	BRWErrors  uint64 `json:"brw_errors"`  // number of brw RPCs that failed
	PingErrors uint64 `json:"ping_errors"` // number of ping RPCs that failed
}

// progress has the first and the latest counters of each client. Its zero value is ready for use.
type progress struct {
	first, last map[nid.ProcessID]*wire.StatReply
}

// add takes the answers of the clients. A client without an answer keeps its earlier counters.
func (p *progress) add(answers []console.Answer) {
	if p.first == nil {
		p.first, p.last = map[nid.ProcessID]*wire.StatReply{}, map[nid.ProcessID]*wire.StatReply{}
	}
	for i := range answers {
		a := &answers[i]
		if a.Stat == nil {
			continue
		}
		if p.first[a.ID] == nil {
			p.first[a.ID] = a.Stat
		}
		p.last[a.ID] = a.Stat
	}
}

// sum returns by how much the counters have grown. They wrap at 32 bits.
func (p *progress) sum() (t totals) {
	for id, last := range p.last { // any order: the result is a sum
		first := p.first[id]
		t.RPCs += uint64(last.RPC.Sent - first.RPC.Sent)
		t.BRWErrors += uint64(last.Framework.BRWErrors - first.Framework.BRWErrors)
		t.PingErrors += uint64(last.Framework.PingErrors - first.Framework.PingErrors)
	}
	return t
}

// progressBar shows on a terminal how many RPCs have been sent.
type progressBar struct {
	w     io.Writer // terminal; nil: nothing is shown
	total uint64    // RPCs that are expected
	shown bool
}

// barWidth is the length of the bar in characters.
const barWidth = 30

func (p *progressBar) show(done uint64, passed time.Duration) {
	if p.w == nil {
		return
	}
	p.shown = true
	fmt.Fprintf(p.w, "\r%s", p.line(done, passed))
}

// line is the text of the bar.
func (p *progressBar) line(done uint64, passed time.Duration) string {
	share := 1.0
	if p.total > 0 {
		share = min(float64(done)/float64(p.total), 1)
	}
	filled := int(share * barWidth)
	return fmt.Sprintf("%s%s %3.0f %%  %d of %d RPCs  %.0f per second ", strings.Repeat("█", filled), strings.Repeat("░", barWidth-filled),
		share*100, done, p.total, float64(done)/max(passed.Seconds(), 0.001))
}

// end ends the line of the bar.
func (p *progressBar) end() {
	if p.shown {
		fmt.Fprintln(p.w)
	}
}
