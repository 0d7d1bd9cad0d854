package analyze

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"math"
	"time"
)

// Sizes in a plot, in pixels.
const (
	plotLeft   = 150
	plotWidth  = 840
	plotTop    = 56
	rowHeight  = 6
	laneHeight = 18
	panelGap   = 34
)

var panelNames = [kinds]string{"PUT to ACK", "GET to REPLY", "request to reply"}

// plot is a plot that is being drawn.
type plot struct {
	w     *bufio.Writer
	r     *Report
	t     *timeline
	used  int     // number of columns that the duration of the report takes
	width float64 // width of a column
	y     int     // where the next panel begins
}

// Plot draws the report as an SVG that needs no other file. It has a panel of latencies over time for
// each kind of operation, darker where there are more, and below the panels a lane for each kind of mark.
func (r *Report) Plot(w io.Writer) error {
	p := &plot{w: bufio.NewWriter(w), r: r, t: r.timeline, y: plotTop}
	if p.t.width == 0 {
		p.t = &timeline{width: firstWidth}
	}
	p.used = int(min(columns, r.Duration/p.t.width+1))
	p.width = float64(plotWidth) / float64(p.used)
	panels := p.panels()
	height := plotTop + len(panels)*(latencies*rowHeight+panelGap) + int(marks)*laneHeight + 60
	width := plotLeft + plotWidth + 30
	title := fmt.Sprintf("LNet operations from %s, %v", r.Start.UTC().Format("2006-01-02 15:04:05.000 UTC"), r.Duration.Round(time.Microsecond))
	fmt.Fprintf(p.w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" font-family="sans-serif" font-size="11">`+"\n", width, height)
	fmt.Fprintf(p.w, "<title>%s</title>\n", html.EscapeString(title))
	fmt.Fprintf(p.w, `<rect width="%d" height="%d" fill="white"/><text x="16" y="24" font-size="14">%s</text>`+"\n", width, height, html.EscapeString(title))
	for _, k := range panels {
		p.panel(k)
	}
	p.lanes()
	p.axis()
	fmt.Fprintln(p.w, "</svg>")
	return p.w.Flush()
}

// panels returns the kinds of operations of which there are latencies.
func (p *plot) panels() (list []Kind) {
	for k := range kinds {
		if p.most(k) > 0 {
			list = append(list, k)
		}
	}
	return list
}

// most returns the largest number of operations in a cell.
func (p *plot) most(k Kind) (most uint32) {
	for i := range p.t.columns {
		for _, n := range p.t.columns[i].latencies[k] {
			most = max(most, n)
		}
	}
	return most
}

// panel draws the latencies of one kind.
func (p *plot) panel(k Kind) {
	bottom, most := p.y+latencies*rowHeight, p.most(k)
	fmt.Fprintf(p.w, `<text x="16" y="%d" font-size="12">%s</text>`+"\n", p.y-6, panelNames[k])
	for decade := time.Microsecond; decade <= 100*time.Second; decade *= 10 {
		y := float64(bottom) - (math.Log2(float64(decade))-rowsFrom+1)*rowHeight
		fmt.Fprintf(p.w, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1[3]f" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%v</text>`+"\n",
			plotLeft, plotLeft+plotWidth, y, plotLeft-6, y+4, decade)
	}
	for i := range p.used {
		for row, n := range p.t.columns[i].latencies[k] {
			if n > 0 {
				tip := fmt.Sprintf("%s: %d of up to %v", p.when(i), n, time.Duration(1)<<(row+rowsFrom))
				p.cell(i, bottom-(row+1)*rowHeight, rowHeight, shade(n, most), tip)
			}
		}
	}
	fmt.Fprintf(p.w, `<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#888"/>`+"\n", plotLeft, p.y, plotWidth, latencies*rowHeight)
	p.y = bottom + panelGap
}

// lanes draws the marks, a lane for each kind.
func (p *plot) lanes() {
	for m := range marks {
		fmt.Fprintf(p.w, `<text x="%d" y="%d" text-anchor="end">%s</text><line x1="%d" x2="%d" y1="%d" y2="%[6]d" stroke="#ddd"/>`+"\n",
			plotLeft-6, p.y+laneHeight-6, markNames[m], plotLeft, plotLeft+plotWidth, p.y+laneHeight)
		for i := range p.used {
			if n := p.t.columns[i].marks[m]; n > 0 {
				p.cell(i, p.y+2, laneHeight-4, markColors[m], fmt.Sprintf("%s: %s, %d", p.when(i), markNames[m], n))
			}
		}
		p.y += laneHeight
	}
}

var markColors = [marks]string{"#c0392b", "#d35400", "#8e44ad", "#27ae60", "#7f8c8d", "#2c3e50", "#b7950b"}

// when describes the time of a column.
func (p *plot) when(column int) string {
	return fmt.Sprintf("%v to %v", p.t.width*time.Duration(column), p.t.width*time.Duration(column+1))
}

// cell draws a rectangle of a column, with a tool tip.
func (p *plot) cell(column, y, height int, fill, tip string) {
	x := plotLeft + float64(column)*p.width
	fmt.Fprintf(p.w, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"><title>%s</title></rect>`+"\n", x, y, max(p.width, 1.5), height, fill, html.EscapeString(tip))
}

// axis draws the axis of time.
func (p *plot) axis() {
	whole := p.t.width * time.Duration(p.used)
	for at := time.Duration(0); at <= whole; at += step(whole) {
		x := plotLeft + float64(at)/float64(whole)*plotWidth
		fmt.Fprintf(p.w, `<line x1="%.1f" x2="%.1[1]f" y1="%d" y2="%d" stroke="#888"/><text x="%.1[1]f" y="%[4]d" text-anchor="middle">%[5]v</text>`+"\n", x, p.y, p.y+5, p.y+18, at)
		if whole-at < step(whole) {
			break
		}
	}
	fmt.Fprintf(p.w, `<text x="%d" y="%d" text-anchor="middle">time since the start of the capture</text>`+"\n", plotLeft+plotWidth/2, p.y+38)
}

// step returns the distance between two ticks: 1, 2 or 5 times a power of ten, so that there are about ten ticks at most.
func step(whole time.Duration) time.Duration {
	s := time.Duration(math.Pow(10, math.Floor(math.Log10(float64(whole)/10))))
	for _, n := range []time.Duration{1, 2, 5, 10} {
		if s > 0 && whole/(s*n) <= 10 {
			return s * n
		}
	}
	return whole
}

// shade returns the blue for a cell with n operations: darker if n is larger, by its logarithm.
func shade(n, most uint32) string {
	f := math.Log1p(float64(n)) / math.Log1p(float64(most))
	return fmt.Sprintf("#%02x%02x%02x", int(200-180*f), int(220-150*f), int(245-110*f))
}
