package main

import (
	"fmt"
	"image/color"
	"io"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"ulnet/cmd/internal/cli"
)

// print prints a row for each value and a column for each file: the median, and the range if
// there are several runs.
func (f *sweepFlags) print(w io.Writer, axis string, list []swept) error {
	var t cli.Table
	head := []any{strings.ToUpper(axis)}
	for i := range list {
		head = append(head, strings.ToUpper(list[i].Name))
	}
	t.Row(head...)
	for k := range list[0].Points {
		row := []any{decimal(list[0].Points[k].X)}
		for i := range list {
			row = append(row, f.cell(&list[i].Points[k], list[i].Unit))
		}
		t.Row(row...)
	}
	return t.Print(w)
}

func (f *sweepFlags) cell(p *sweptPoint, unit string) string {
	text := strings.TrimSpace(fmt.Sprintf("%s %s", number(p.P50), unit))
	if f.runs > 1 {
		text += fmt.Sprintf(" (%s to %s)", number(p.Min), number(p.Max))
	}
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d of %d FAILED", p.Failed, f.runs)
	}
	return text
}

// curveColors are the colors of curves, in order.
var curveColors = []color.NRGBA{
	lineColor,
	{R: 0xd6, G: 0x27, B: 0x28, A: 0xff},
	{R: 0x2c, G: 0xa0, B: 0x2c, A: 0xff},
	{R: 0x94, G: 0x67, B: 0xbd, A: 0xff},
	{R: 0xff, G: 0x7f, B: 0x0e, A: 0xff},
}

// writePlot draws the curves into a file.
func (f *sweepFlags) writePlot(axis string, list []swept, with []marks) error {
	p, err := f.figure(axis, list, with)
	if err != nil {
		return err
	}
	canvas := vgsvg.New(plotWidth, plotHeight)
	p.Draw(draw.New(canvas))
	return cli.Save(f.plot, "--plot", func(w io.Writer) error {
		_, err := canvas.WriteTo(w)
		return err
	})
}

// figure draws the curves: medians, with the ranges of several runs in the background.
func (f *sweepFlags) figure(axis string, list []swept, with []marks) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.title, axis, f.show
	if list[0].Unit != "" {
		p.Y.Label.Text += ", " + list[0].Unit
	}
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	for i := range list {
		if err := list[i].draw(p, curveColors[i%len(curveColors)], f.runs); err != nil {
			return nil, err
		}
	}
	for i := range with {
		if err := with[i].draw(p, i); err != nil {
			return nil, err
		}
	}
	p.Y.Min, p.Y.Max = 0, p.Y.Max*1.25 // a quarter more, to make room for the legend
	if f.log {
		p.X.Scale = plot.LogScale{}
		var ticks plot.ConstantTicks
		for _, point := range list[0].Points {
			ticks = append(ticks, plot.Tick{Value: point.X, Label: decimal(point.X)})
		}
		p.X.Tick.Marker = ticks
	}
	return p, nil
}

// draw adds a curve to a plot.
func (s *swept) draw(p *plot.Plot, c color.NRGBA, runs int) error {
	var median, around plotter.XYs
	for _, q := range s.Points {
		median, around = append(median, plotter.XY{X: q.X, Y: q.P50}), append(around, plotter.XY{X: q.X, Y: q.Max})
	}
	if runs > 1 {
		for i := len(s.Points) - 1; i >= 0; i-- {
			around = append(around, plotter.XY{X: s.Points[i].X, Y: s.Points[i].Min})
		}
		area, err := plotter.NewPolygon(around)
		if err != nil {
			return err
		}
		area.Color, area.LineStyle.Width = color.NRGBA{R: c.R, G: c.G, B: c.B, A: 0x40}, 0
		p.Add(area)
	}
	line, points, err := plotter.NewLinePoints(median)
	if err != nil {
		return err
	}
	line.Color, line.Width = c, vg.Points(1.5)
	points.Color, points.Shape = c, draw.CircleGlyph{}
	p.Add(line, points)
	p.Legend.Add(s.Name, line, points)
	return nil
}

// draw adds the points of the option --with to a plot.
func (m *marks) draw(p *plot.Plot, i int) error {
	var list plotter.XYs
	for k := range m.x {
		list = append(list, plotter.XY{X: m.x[k], Y: m.y[k]})
	}
	points, err := plotter.NewScatter(list)
	if err != nil {
		return err
	}
	points.Shape, points.Radius = []draw.GlyphDrawer{draw.CrossGlyph{}, draw.PlusGlyph{}, draw.TriangleGlyph{}}[i%3], vg.Points(5)
	p.Add(points)
	p.Legend.Add(m.label, points)
	return nil
}
