// Package replicalog is a log whose entries are counted from 1.
package replicalog

type Log struct{ Str string }

var (
	Lognow int
	Record []Log
)

func Initlog() { Record = []Log{{}} }

func Getlog(number int) Log { return Record[number] }
