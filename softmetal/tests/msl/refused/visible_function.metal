[[visible]] float f(float x) { return x; }  // error: [[visible]] functions are not supported: softmetal runs compute kernels
