package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
)

// claimPackage has the function Covers, by which a test claims that it shows rows of docs/spec.
const claimPackage = "lnd/lndtest/spec"

// Claims maps the id of a row to the tests that claim the row, such as
// "gossip/engine.TestPause".
type Claims map[string][]string

// ReadClaims reads the calls of spec.Covers from tests. It returns a line for each call that
// does not name its rows by literals, or names a row that does not exist.
func (s *Spec) ReadClaims(pkgs []*Package) (Claims, []string) {
	claims, rows := Claims{}, s.ids()
	var bad []string
	for _, p := range pkgs {
		for _, f := range p.Files {
			if !slices.Contains(f.Imports, claimPackage) || p.Path == claimPackage {
				continue
			}
			for _, call := range f.covers() {
				at := f.Fset.Position(call.Pos())
				if !f.Test {
					bad = append(bad, fmt.Sprintf("%s: a program claims rows", at))
					continue
				}
				for _, arg := range call.Args[min(1, len(call.Args)):] {
					id, ok := literal(arg)
					if !ok {
						bad = append(bad, fmt.Sprintf("%s: rows are claimed by string literals", at))
					} else if _, ok := rows[id]; !ok {
						bad = append(bad, fmt.Sprintf("%s: %s: no such row in %s", at, id, specFolder))
					} else {
						claims.add(id, p.Path+"."+call.in)
					}
				}
			}
		}
	}
	return claims, bad
}

func (c Claims) add(id, test string) {
	if !slices.Contains(c[id], test) {
		c[id] = append(c[id], test)
	}
}

// claim is a call of spec.Covers in a function.
type claim struct {
	*ast.CallExpr
	in string
}

// covers returns the calls of spec.Covers in the functions of the file.
func (f *File) covers() []claim {
	var all []claim
	for _, d := range f.AST.Decls {
		fun, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(fun, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Covers" {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "spec" {
					all = append(all, claim{call, fun.Name.Name})
				}
			}
			return true
		})
	}
	return all
}

// literal returns the value of a string literal.
func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		return "", false
	}
	value, err := strconv.Unquote(lit.Value)
	return value, err == nil
}
