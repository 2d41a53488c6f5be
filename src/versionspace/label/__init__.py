"""The labelling page: a folder of images, a person in a browser, and a campaign that never makes her wait.

pacing      how many images to ask for, and when a model is too old to ask
spread      images unlike those seen so far, one by one
history     every answer in the order it came: undo, corrections, the rail
leases      who has which image on the screen
asking      which image comes next
service        the campaign behind the page: one lock, one writer
trainer     the process that trains; supervising starts it, hears it and starts it again
showing     image files as the browser gets them
guard       who may come in
api, server the web
"""
