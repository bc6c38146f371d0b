// Named in MTLTexture's and MTLDevice's declarations. softmetal has no surfaces.
#pragma once

typedef struct __IOSurface* IOSurfaceRef;
