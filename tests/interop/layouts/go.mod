// Each release builds with its own module file: releases/NAME.mod (go build -modfile). This one only marks the root.
module profrelay/layouts

go 1.26.7
