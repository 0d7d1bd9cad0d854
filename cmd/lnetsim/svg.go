package main

import (
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"ulnet/lnd/sim/scenario"
)

// The size of a plot.
const (
	plotWidth  = 18 * vg.Centimeter
	plotHeight = 10 * vg.Centimeter
)

var (
	lineColor  = color.NRGBA{R: 0x1f, G: 0x77, B: 0xb4, A: 0xff}
	rangeColor = color.NRGBA{R: 0x1f, G: 0x77, B: 0xb4, A: 0x40}
)

// writeSVG draws a curve over virtual time, with the range of several runs in the background.
func writeSVG(w io.Writer, f *scenario.File, c *curve, runs int) error {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%s: %s", f.Name, c.Doc)
	if runs > 1 {
		p.Title.Text += fmt.Sprintf(", median and range of %d runs", runs)
	}
	p.X.Label.Text, p.Y.Label.Text = "virtual time, s", c.Name
	if c.Unit != "" {
		p.Y.Label.Text += ", " + c.Unit
	}
	p.Add(plotter.NewGrid())
	p.X.Min, p.X.Max = 0, max(f.Length.Seconds(), 1e-9)
	p.Y.Min = 0
	if len(c.at) > 0 {
		if err := c.draw(p, runs); err != nil {
			return err
		}
	}
	canvas := vgsvg.New(plotWidth, plotHeight)
	p.Draw(draw.New(canvas))
	_, err := canvas.WriteTo(w)
	return err
}

func (c *curve) draw(p *plot.Plot, runs int) error {
	if runs > 1 {
		around := make(plotter.XYs, 0, 2*len(c.at))
		for i, v := range c.utmost {
			around = append(around, plotter.XY{X: c.at[i].Seconds(), Y: v})
		}
		for i := len(c.at) - 1; i >= 0; i-- {
			around = append(around, plotter.XY{X: c.at[i].Seconds(), Y: c.least[i]})
		}
		area, err := plotter.NewPolygon(around)
		if err != nil {
			return err
		}
		area.Color, area.LineStyle.Width = rangeColor, 0
		p.Add(area)
	}
	points := make(plotter.XYs, len(c.at))
	for i, v := range c.median {
		points[i] = plotter.XY{X: c.at[i].Seconds(), Y: v}
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = lineColor, vg.Points(1.5)
	p.Add(line)
	return nil
}
