package quick

import (
	"bufio"
	"fmt"
	"html"
	"io"
)

// Sizes in a heat map, in pixels.
const (
	cellWidth  = 76
	cellHeight = 30
	labelWidth = 190
	headHeight = 150
	edge       = 16
)

// Plot draws the result as a heat map in SVG: a row for each client, a column for each server. A
// pair is the redder the slower it is in comparison with the fastest one.
func (r *Result) Plot(w io.Writer) error {
	best := 0.0
	for i := range r.Pairs {
		best = max(best, r.Pairs[i].Rate)
	}
	b := bufio.NewWriter(w)
	width := labelWidth + len(r.To)*cellWidth + 2*edge
	height := headHeight + len(r.From)*cellHeight + 2*edge
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="11">`+"\n", width, height)
	fmt.Fprintf(b, `<title>%s</title><rect width="%d" height="%d" fill="white"/>`+"\n", html.EscapeString(r.what()), width, height)
	fmt.Fprintf(b, `<text x="%d" y="%d" font-size="13">%s, %d at a time, %s: from rows to columns</text>`+"\n", edge, edge+13, html.EscapeString(r.what()), r.Concurrency, r.unit())
	for j, to := range r.To {
		x, y := labelWidth+edge+j*cellWidth+cellWidth/2, headHeight+edge-8
		fmt.Fprintf(b, `<text transform="translate(%d %d) rotate(-40)">%s</text>`+"\n", x, y, html.EscapeString(to))
	}
	for i, from := range r.From {
		y := headHeight + edge + i*cellHeight
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", labelWidth+edge-8, y+cellHeight/2+4, html.EscapeString(from))
		for j := range r.To {
			r.cell(b, r.at(i, j), labelWidth+edge+j*cellWidth, y, best)
		}
	}
	fmt.Fprintln(b, "</svg>")
	return b.Flush()
}

func (r *Result) unit() string {
	if r.Op != "" {
		return "MiB/s"
	}
	return "RPC/s"
}

// cell draws a pair, with its figures as a tool tip.
func (r *Result) cell(w io.Writer, p *Pair, x, y int, best float64) {
	fill, text, tip := "#eeeeee", "", "not measured"
	switch {
	case p == nil:
	case p.Failed != "":
		fill, text, tip = "#555555", "failed", p.Failed
	default:
		fill, text = colour(p.Rate/max(best, 1e-9)), fmt.Sprintf("%.0f", p.Rate)
		if r.Op != "" {
			text = fmt.Sprintf("%.1f", p.Bandwidth/(1<<20))
		}
		l := &p.Latency
		tip = fmt.Sprintf("%s -> %s: %.0f RPC/s, p50 %v, p90 %v, p99 %v, %d errors", p.From, p.To, p.Rate, short(l.P50), short(l.P90), short(l.P99), p.Errors)
	}
	ink := "black"
	if p != nil && p.Failed != "" {
		ink = "white"
	}
	fmt.Fprintf(w, `<g><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" fill="%s" stroke="white"/>`, html.EscapeString(tip), x, y, cellWidth, cellHeight, fill)
	fmt.Fprintf(w, `<text x="%d" y="%d" text-anchor="middle" fill="%s">%s</text></g>`+"\n", x+cellWidth/2, y+cellHeight/2+4, ink, text)
}

// colour returns red for 0, yellow for a half and green for 1, all light enough for black text.
func colour(share float64) string {
	share = min(max(share, 0), 1)
	red, green := 235.0, 110+125*min(2*share, 1)
	if share > 0.5 {
		red = 235 - 145*(2*share-1)
	}
	return fmt.Sprintf("#%02x%02x6e", int(red), int(green))
}
