package images

// BuildWeb builds the web server anew.
var BuildWeb = buildWeb
