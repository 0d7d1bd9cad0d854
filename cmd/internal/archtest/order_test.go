package archtest

import (
	"fmt"
	"go/ast"
	"maps"
	"strings"
)

// ordered packages behave in the same way in every run with the same seed, so the iteration
// order of a map must not influence what they do.
const ordered = clockless + " lnet/lnetsim lnd/sim lnd/link lnd/sim/scenario lnd/sim/flood"

// anyOrder begins the comment on a loop over a map whose order does not matter; the reason
// follows.
const anyOrder = "// any order: "

// mapNames has the names of maps: of struct fields, and of variables.
type mapNames struct{ fields, vars map[string]bool }

// mapOrder finds loops over maps. It recognizes a map only by the names that the package
// declares.
func (p *Package) mapOrder() []string {
	names := mapNames{map[string]bool{}, map[string]bool{}}
	for _, f := range p.Files {
		for _, d := range f.AST.Decls {
			if g, ok := d.(*ast.GenDecl); ok && !f.Test {
				names.declared(g)
			}
		}
	}
	var bad []string
	for _, f := range p.Files {
		for _, d := range f.AST.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && !f.Test {
				bad = append(bad, f.mapRanges(fn, names)...)
			}
		}
	}
	return bad
}

// mapRanges finds loops in a function over maps, and over the iterators of package maps.
func (f *File) mapRanges(fn *ast.FuncDecl, names mapNames) []string {
	names.vars = maps.Clone(names.vars)
	names.declared(fn)
	excused := f.excused()
	var bad []string
	ast.Inspect(fn, func(n ast.Node) bool {
		r, ok := n.(*ast.RangeStmt)
		if !ok {
			return true
		}
		if at := f.Fset.Position(r.Pos()); names.isMap(r.X) && !excused[at.Line] {
			bad = append(bad, fmt.Sprintf("%s: a range over a map: give it an order, or say %q and why", at, anyOrder))
		}
		return true
	})
	return bad
}

// declared adds the maps that a declaration declares.
func (m mapNames) declared(d ast.Node) {
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			for _, field := range n.Fields.List {
				note(m.fields, field.Names, m.isMap(field.Type))
			}
			return false
		case *ast.FuncType:
			for _, field := range n.Params.List {
				note(m.vars, field.Names, m.isMap(field.Type))
			}
		case *ast.ValueSpec:
			note(m.vars, n.Names, m.isMap(n.Type))
			for i, value := range n.Values {
				note(m.vars, n.Names[min(i, len(n.Names)-1):], m.isMap(value))
			}
		case *ast.AssignStmt:
			for i, value := range n.Rhs {
				if name, ok := n.Lhs[i].(*ast.Ident); ok {
					note(m.vars, []*ast.Ident{name}, m.isMap(value))
				}
			}
		}
		return true
	})
}

func note(set map[string]bool, names []*ast.Ident, isMap bool) {
	for _, name := range names {
		set[name.Name] = set[name.Name] || isMap
	}
}

// isMap reports whether an expression is a map, a map type, or an iterator of package maps.
func (m mapNames) isMap(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.MapType:
		return true
	case *ast.CompositeLit:
		return m.isMap(e.Type)
	case *ast.Ident:
		return m.vars[e.Name]
	case *ast.SelectorExpr:
		return m.fields[e.Sel.Name]
	case *ast.CallExpr:
		if sel, ok := e.Fun.(*ast.SelectorExpr); ok {
			pkg, ok := sel.X.(*ast.Ident)
			return ok && pkg.Name == "maps"
		}
		name, ok := e.Fun.(*ast.Ident)
		return ok && name.Name == "make" && m.isMap(e.Args[0])
	}
	return false
}

// excused returns the lines with a comment that begins with anyOrder.
func (f *File) excused() map[int]bool {
	lines := map[int]bool{}
	for _, group := range f.AST.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, anyOrder) {
				lines[f.Fset.Position(c.Pos()).Line] = true
			}
		}
	}
	return lines
}
